import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { z } from 'zod';

/** One post that came. */
export interface Post {
  headers: IncomingHttpHeaders;
  body: string;
  id: string;
  type: string;
}

/** A real web server that keeps what is posted to it. */
export interface PostServer {
  url: string;
  posts: Post[];
  /** Answers the next posts with these; then with 204 again. `hang`: not at all. */
  script(...answers: (number | 'hang')[]): void;
  close(): Promise<void>;
}

const Body = z.object({ id: z.string(), type: z.string() });

/** A server for each test of a file. */
export function usePostServer(): () => PostServer {
  let server: PostServer;
  beforeEach(async () => {
    server = await startPostServer();
  });
  afterEach(() => server.close());
  return () => server;
}

export async function startPostServer(): Promise<PostServer> {
  const posts: Post[] = [];
  const answers: (number | 'hang')[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      posts.push({ headers: request.headers, body, ...Body.parse(JSON.parse(body)) });
      const answer = answers.shift() ?? 204;
      if (answer === 'hang') return;
      response.writeHead(answer, answer === 302 ? { location: '/elsewhere' } : {}).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${portOf(server)}/hook/s3cret-path`,
    posts,
    script: (...next) => void answers.push(...next),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
