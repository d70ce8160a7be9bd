# A worker. The agents are mounted at /app/agents, so that a change of theirs needs no new image.
FROM node:22.20.0-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --include=dev --no-audit --no-fund
COPY tsconfig.json ./
COPY bin bin
COPY scripts scripts
COPY src src
RUN npm run build && npm prune --omit=dev --no-audit --no-fund

FROM node:22.20.0-bookworm-slim
# The worker's TLS trusts what the system trusts, and the slim image trusts nobody.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates \
  && rm -rf /var/lib/apt/lists/* \
  && install --directory --owner node --group node /state /workspace
ENV NODE_ENV=production XDG_STATE_HOME=/state WORKSPACE=/workspace
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/lib lib
COPY --from=build /app/bin bin
COPY deploy/worker-health.cjs deploy/
COPY deploy/agents agents
USER node
VOLUME ["/state", "/workspace"]
HEALTHCHECK --interval=30s --timeout=15s --start-period=60s --retries=3 CMD ["node", "deploy/worker-health.cjs"]
ENTRYPOINT ["node", "bin/countersign.js"]
CMD ["worker", "agents/countersign.config.ts"]
