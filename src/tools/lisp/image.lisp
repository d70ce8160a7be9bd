;;;; The functions that the Lisp pack calls in an image, over Swank. The worker loads this text into an image when it
;;;; connects. Arguments are strings, and answers are strings and lists of strings. Text of a caller is read as code in
;;;; two cases only: a person let a form run (EVALUATE), or a macro is expanded (READ-DATA, which refuses #. and the like).

(defpackage "COUNTERSIGN.IMAGE" (:use "COMMON-LISP"))
(in-package "COUNTERSIGN.IMAGE")
(require :sb-introspect)
(require :sb-cltl2)
(require :sb-posix)

;;; Output up to a limit. Output beyond the limit is only counted, or it ends the printing.

(defclass bounded (sb-gray:fundamental-character-output-stream)
  ((room :initarg :room)
   (ends :initarg :ends :initform nil)
   (column :initform 0)
   (left-out :initform 0)
   (kept :initform (make-string-output-stream))))

(defmethod sb-gray:stream-line-column ((stream bounded)) (slot-value stream 'column))

(defmethod sb-gray:stream-write-char ((stream bounded) character)
  (with-slots (room ends column left-out kept) stream
    (setf column (if (char= character #\Newline) 0 (1+ column)))
    (cond ((plusp room) (decf room) (write-char character kept))
          (t (incf left-out) (when ends (throw 'full nil)))))
  character)

(defmethod sb-gray:stream-write-string ((stream bounded) string &optional (start 0) end)
  (with-slots (room ends column left-out kept) stream
    (let* ((end (or end (length string)))
           (stop (min end (+ start room)))
           (newline (position #\Newline string :start start :end end :from-end t)))
      (write-string string kept :start start :end stop)
      (decf room (- stop start))
      (setf column (if newline (- end newline 1) (+ column (- end start))))
      (when (< stop end)
        (incf left-out (- end stop))
        (when ends (throw 'full nil)))))
  string)

(defun text-of (stream)
  (with-slots (ends left-out kept) stream
    (let ((text (get-output-stream-string kept)))
      (cond ((zerop left-out) text)
            (ends (concatenate 'string text " [... cut]"))
            (t (format nil "~A~%[... ~D characters left out ...]" text left-out))))))

(defun call-printing (function limit package)
  "What FUNCTION writes to the stream it is given, at most LIMIT characters of it."
  (let ((stream (make-instance 'bounded :room limit :ends t)) (gensym *print-gensym*))
    (catch 'full
      (with-standard-io-syntax
        (let ((*package* (or package *package*)) (*print-gensym* gensym) (*read-eval* nil) (*print-readably* nil)
              (*print-circle* t) (*print-length* 1000) (*print-level* 50))
          (handler-case (funcall function stream)
            (serious-condition (c) (format stream "#<cannot be printed: ~A>" (type-of c)))))))
    (text-of stream)))

(defun printed (object &key (limit 20000) package pretty)
  (call-printing (lambda (stream) (write object :stream stream :escape t :pretty pretty)) limit package))

(defun message-of (condition)
  (call-printing (lambda (stream) (let ((*print-escape* nil)) (princ condition stream))) 8000 nil))

;;; Names

(define-condition refusal (error)
  ((text :initarg :text))
  (:report (lambda (refusal stream) (write-string (slot-value refusal 'text) stream))))

(defun refuse (control &rest arguments)
  (error 'refusal :text (apply #'format nil control arguments)))

(defun package-of (name)
  (or (find-package name) (find-package (string-upcase name)) (refuse "Package ~A not found" name)))

(defun symbol-of (name package-name)
  (let ((package (package-of package-name)))
    (multiple-value-bind (symbol status) (find-symbol name package)
      (if status symbol (refuse "Symbol ~A not found in package ~A" name (package-name package))))))

(defun class-of-name (name package-name)
  (let ((symbol (symbol-of name package-name)))
    (or (find-class symbol nil) (refuse "~A is not a class" symbol))))

;;; A call can be stopped from another thread, by its tag.

(defvar *calls* (make-hash-table :test 'equal :synchronized t))

(defun stoppable (tag function)
  (catch 'stopped
    (unwind-protect
         (progn (setf (gethash tag *calls*) sb-thread:*current-thread*)
                (funcall function))
      (remhash tag *calls*))))

(defun stop (tag)
  (let ((thread (gethash tag *calls*)))
    (when thread
      (sb-thread:interrupt-thread
       thread (lambda () (when (gethash tag *calls*) (throw 'stopped (list :stopped "stopped"))))))
    (list :ok (if thread "stopping" "ended"))))

;;; Questions

(defun kinds-of (symbol)
  (let ((class (find-class symbol nil)))
    (remove nil
            (list (cond ((special-operator-p symbol) "special operator")
                        ((macro-function symbol) "macro")
                        ((not (fboundp symbol)) nil)
                        ((typep (fdefinition symbol) 'generic-function) "generic function")
                        (t "function"))
                  (cond ((keywordp symbol) "keyword")
                        ((constantp symbol) "constant")
                        ((boundp symbol) "variable")
                        ((eq (sb-cltl2:variable-information symbol) :special) "variable"))
                  (cond ((null class) (when (sb-ext:valid-type-specifier-p symbol) "type"))
                        ((typep class 'structure-class) "structure")
                        ((subtypep class 'condition) "condition")
                        (t "class"))))))

(defun kind-text (symbol) (format nil "~{~A~^, ~}" (or (kinds-of symbol) '("symbol"))))

(defun lambda-list-of (symbol)
  "As people write it: the names of parameters without their packages."
  (labels ((plain (tree)
             (cond ((consp tree) (cons (plain (car tree)) (plain (cdr tree))))
                   ((and tree (symbolp tree) (not (keywordp tree))) (make-symbol (symbol-name tree)))
                   (t tree))))
    (let ((*print-gensym* nil))
      (call-printing (lambda (stream) (format stream "~:S" (plain (sb-introspect:function-lambda-list symbol))))
                     4000 nil))))

(defun source-file (symbol)
  (loop for type in '(:macro :function :generic-function :class :structure :condition :variable :constant)
        for source = (first (ignore-errors (sb-introspect:find-definition-sources-by-name symbol type)))
        for file = (and source (sb-introspect:definition-source-pathname source))
        when file return (namestring file)))

(defun describe-symbol (name package-name)
  (let* ((symbol (symbol-of name package-name))
         (documentation (remove-duplicates
                         (remove nil (mapcar (lambda (type) (documentation symbol type))
                                             '(function variable type structure setf)))
                         :test #'string=))
         (package (symbol-package symbol))
         (file (source-file symbol)))
    (call-printing
     (lambda (stream)
       (format stream "~A [~A]~%" (symbol-name symbol) (kind-text symbol))
       (format stream "Documentation: ~:[none~;~:*~{~A~^~%~}~]~%" documentation)
       (when (fboundp symbol)
         (format stream "Lambda list: ~A~%" (lambda-list-of symbol)))
       (when (and (fboundp symbol) (not (macro-function symbol)) (not (special-operator-p symbol)))
         (format stream "Type: ~S~%" (sb-introspect:function-type symbol)))
       (when (and (boundp symbol) (not (keywordp symbol)))
         (format stream "Value: ~A~%" (printed (symbol-value symbol) :limit 2000)))
       (when package
         (format stream "Package: ~A (~(~A~))~%" (package-name package)
                 (nth-value 1 (find-symbol (symbol-name symbol) package))))
       (when file (format stream "Source: ~A~%" file)))
     30000 (package-of package-name))))

(defun sorted (symbols)
  (sort (remove-duplicates symbols) #'string<
        :key (lambda (symbol) (format nil "~A ~A" (symbol-name symbol)
                                      (if (symbol-package symbol) (package-name (symbol-package symbol)) "")))))

(defparameter *most-lines* 500)

(defun listed (head things line)
  (let ((more (- (length things) *most-lines*)))
    (format nil "~A~%~%~{~A~%~}~@[[... ~D more; narrow the question]~%~]" head
            (loop for thing in things repeat *most-lines* collect (funcall line thing))
            (when (plusp more) more))))

(defun apropos-search (pattern package-name)
  (let* ((package (if (string= package-name "") nil (package-of package-name)))
         (found (remove nil (sorted (apropos-list pattern package)) :key #'symbol-package)))
    (listed (format nil "Found ~D symbol~:P matching '~A':" (length found) pattern) found
            (lambda (symbol) (format nil "~A::~A [~A]" (package-name (symbol-package symbol)) (symbol-name symbol)
                                     (kind-text symbol))))))

(defun function-of-name (name package-name)
  (let ((symbol (symbol-of name package-name)))
    (if (fboundp symbol) symbol (refuse "~A is not a function" symbol))))

(defun function-arglist (name package-name)
  (let ((symbol (function-of-name name package-name)))
    (format nil "~A ~A" (symbol-name symbol) (lambda-list-of symbol))))

(defun xref-lines (found package)
  (sort (remove-duplicates
         (loop for (name . source) in found
               for file = (sb-introspect:definition-source-pathname source)
               collect (format nil "  ~A~@[  (~A)~]" (printed name :limit 300 :package package)
                               (and file (namestring file))))
         :test #'string=)
        #'string<))

(defun who-calls (name package-name)
  (let* ((symbol (symbol-of name package-name))
         (found (if (macro-function symbol)
                    (sb-introspect:who-macroexpands symbol)
                    (sb-introspect:who-calls symbol))))
    (if found
        (listed (format nil "Functions calling ~A:" symbol) (xref-lines found (package-of package-name)) #'identity)
        (format nil "No callers found for ~A" symbol))))

(defun who-references (name package-name)
  (let* ((symbol (symbol-of name package-name))
         (found (sb-introspect:who-references symbol)))
    (if found
        (listed (format nil "References to ~A:" symbol) (xref-lines found (package-of package-name)) #'identity)
        (format nil "No references found for ~A" symbol))))

(defun list-package-symbols (package-name internal)
  (let ((package (package-of package-name)) (symbols '()))
    (if (string= internal "true")
        (do-symbols (symbol package) (when (eq (symbol-package symbol) package) (push symbol symbols)))
        (do-external-symbols (symbol package) (push symbol symbols)))
    (let ((found (sorted symbols)))
      (listed (format nil "Package ~A (~D symbol~:P):" (package-name package) (length found)) found
              (lambda (symbol) (format nil "  ~A [~A]" (symbol-name symbol) (kind-text symbol)))))))

(defun slot-lines (slot package)
  (flet ((line (label value) (format nil "    ~A: ~A" label (printed value :limit 500 :package package))))
    (append (list (format nil "  ~A" (sb-mop:slot-definition-name slot)))
            (when (sb-mop:slot-definition-initargs slot)
              (list (format nil "    Initarg: ~{~S~^, ~}" (sb-mop:slot-definition-initargs slot))))
            (unless (eq (sb-mop:slot-definition-type slot) t) (list (line "Type" (sb-mop:slot-definition-type slot))))
            (when (sb-mop:slot-definition-initfunction slot)
              (list (line "Initform" (sb-mop:slot-definition-initform slot))))
            (unless (eq (sb-mop:slot-definition-allocation slot) :instance)
              (list (line "Allocation" (sb-mop:slot-definition-allocation slot))))
            (let ((documentation (ignore-errors (documentation slot t))))
              (unless (member documentation '(nil "") :test #'equal)
                (list (format nil "    Documentation: ~A" documentation)))))))

(defun class-slots (name package-name)
  (let* ((class (class-of-name name package-name))
         (whole (sb-mop:class-finalized-p class))
         (slots (if whole (sb-mop:class-slots class) (sb-mop:class-direct-slots class))))
    (format nil "Class: ~A~%~%Slots (~D~:[, only its own: no instance was made yet~;~]):~%~{~A~%~}" (class-name class)
            (length slots) whole
            (loop for slot in slots append (slot-lines slot (package-of package-name))))))

(defun class-hierarchy (name package-name)
  (let* ((class (class-of-name name package-name))
         (whole (sb-mop:class-finalized-p class))
         (supers (if whole (sb-mop:class-precedence-list class) (sb-mop:class-direct-superclasses class)))
         (subs (sort (mapcar #'class-name (sb-mop:class-direct-subclasses class)) #'string<)))
    (format nil "Class: ~A~%~%~:[Direct Superclasses~;Class Precedence List~]:~%~{  ~A~%~}~%~:[No direct subclasses~*~;Direct Subclasses (~D):~%~]~{  ~A~%~}"
            (class-name class) whole (mapcar #'class-name supers) subs (length subs) subs)))

;;; Forms as data

(defun refuse-dispatch (stream character argument)
  (declare (ignore stream argument))
  (refuse "The form uses #~A, which would run or build something while it is read. Nothing was expanded." character))

(defparameter *data-readtable*
  (let ((table (copy-readtable nil)))
    (dolist (character '(#\. #\S #\s #\A #\a #\= #\#))
      (set-dispatch-macro-character #\# character #'refuse-dispatch table))
    (dolist (character '(#\( #\*))
      (let ((plain (get-dispatch-macro-character #\# character)))
        (set-dispatch-macro-character
         #\# character
         (lambda (stream sub argument)
           ;; A length such as a billion would fill the heap, so a length is refused.
           (if argument (refuse-dispatch stream sub argument) (funcall plain stream sub nil)))
         table)))
    table))

(defun assert-one-form (text)
  "Refuses text that is not one whole form. Nothing in it is evaluated or interned."
  (with-standard-io-syntax
    (let ((*read-eval* nil) (*read-suppress* t))
      (with-input-from-string (stream text)
        (handler-case
            (progn
              (when (eq (read stream nil stream) stream) (refuse "The text holds no form."))
              (unless (eq (read stream nil stream) stream)
                (refuse "The text holds more than one form; put them into one PROGN.")))
          (end-of-file () (refuse "The form is not complete: something in it is not closed."))
          (reader-error (c) (refuse "The form cannot be read: ~A" (message-of c))))))))

(defparameter *closed-packages* '("SB-" "SWANK" "ASDF" "UIOP" "COUNTERSIGN.")
  "Beginnings of the names of packages whose macros are not expanded: SB-C:DEFINE-VOP, for one, evaluates a part of its form.")

(defun assert-open-macro (form)
  (let* ((name (and (consp form) (first form)))
         (package (and name (symbolp name) (symbol-package name))))
    (when (and package (some (lambda (start) (eql 0 (search start (package-name package)))) *closed-packages*))
      (refuse "~A::~A belongs to the Lisp system. Expanding it could run a part of the form. Nothing was expanded."
              (package-name package) name))))

(defun assert-no-predicate (tree)
  "LOOP calls the predicate of a type (SATISFIES p) while it expands."
  (loop while (consp tree)
        do (assert-no-predicate (pop tree)))
  (when (eq tree 'satisfies)
    (refuse "The form names a type by SATISFIES, whose predicate could run while it expands. Nothing was expanded.")))

(defun macroexpand-form (text full package-name)
  (assert-one-form text)
  (let* ((package (package-of package-name))
         (form (with-standard-io-syntax
                 (let ((*package* package) (*readtable* *data-readtable*) (*read-eval* nil))
                   (read-from-string text))))
         (whole (string= full "true"))
         ;; The hook also gets macros inside the form, because SETF expands its places.
         (*macroexpand-hook* (lambda (function form environment)
                               (assert-open-macro form)
                               (funcall function form environment))))
    (assert-no-predicate form)
    (let ((expanded (let ((*package* package)) (if whole (macroexpand form) (macroexpand-1 form)))))
      (format nil "Original:~%~A~%~%Expanded (~:[one step~;full~]):~%~A"
              (printed form :package package :pretty t) whole (printed expanded :package package :pretty t)))))

(defparameter *questions*
  (list (cons "describe_symbol" #'describe-symbol) (cons "apropos_search" #'apropos-search)
        (cons "function_arglist" #'function-arglist) (cons "who_calls" #'who-calls)
        (cons "who_references" #'who-references) (cons "list_package_symbols" #'list-package-symbols)
        (cons "class_slots" #'class-slots) (cons "class_hierarchy" #'class-hierarchy)
        (cons "macroexpand_form" #'macroexpand-form)))

;;; Forms that run

(defun frame-lines ()
  (let* ((frames (sb-debug:list-backtrace :count 120))
         (signalled (position-if (lambda (frame) (member (first frame) '(error cerror break invoke-debugger sb-kernel:with-simple-condition-restarts)))
                                 frames :from-end t :end (min 14 (length frames))))
         (own (position-if (lambda (frame) (search "COUNTERSIGN.IMAGE" (prin1-to-string (first frame))))
                           frames :start (or signalled 0))))
    (loop for frame in (subseq frames (if signalled (1+ signalled) 0) own)
          for index below 40
          collect (format nil "~D: ~A" index
                          (call-printing (lambda (stream)
                                           (let ((*print-length* 8) (*print-level* 3)) (prin1 frame stream)))
                                         300 nil)))))

(defun failure (condition outer)
  (list :failed (message-of condition)
        (printed (type-of condition) :limit 300)
        (loop for restart in (set-difference (compute-restarts condition) outer)
              for index below 20
              collect (format nil "~A: ~A" (restart-name restart)
                              (call-printing (lambda (stream) (princ restart stream)) 500 nil)))
        (let ((*package* (find-package "COMMON-LISP-USER"))) (frame-lines))))

(defun netted (function outer)
  "Whatever would enter the debugger ends FUNCTION instead, with the condition, its restarts and the stack."
  (block net
    (flet ((hook (condition previous)
             (declare (ignore previous))
             (return-from net (failure condition outer))))
      (let ((sb-ext:*invoke-debugger-hook* #'hook) (*debugger-hook* #'hook))
        (funcall function)))))

(defun ask (tag question &rest arguments)
  "Answers (:OK text), (:ERROR text) or (:STOPPED text)."
  (stoppable
   tag
   (lambda ()
     (netted
      (lambda ()
        (handler-case
            (let ((*read-eval* nil))
              (list :ok (apply (cdr (assoc question *questions* :test #'string=)) arguments)))
          (serious-condition (c) (list :error (message-of c)))))
      '()))))

(defun offset-of (location)
  (let ((place (and (eq (first location) :location)
                    (or (assoc :offset (rest location)) (assoc :position (rest location))))))
    (if place (reduce #'+ (remove-if-not #'integerp (rest place))) 0)))

(defun compiled (text)
  "(:COMPILED done (severity message offset) ...); the compiler's own report would say the same again."
  (destructuring-bind (type notes success &rest more)
      (let ((*error-output* (make-broadcast-stream)) (*compile-print* nil) (*compile-verbose* nil))
        (swank::collect-notes
         (lambda () (swank/backend:swank-compile-string text :buffer "form" :position 1))))
    (declare (ignore type more))
    (list* :compiled (if success "true" "false")
           (loop for note in notes
                 collect (list (string-downcase (getf note :severity)) (princ-to-string (getf note :message))
                               (offset-of (getf note :location)))))))

(defun evaluated (text)
  (let ((values (multiple-value-list (eval (read-from-string text)))))
    (cons :values (loop for value in values for index below 20
                        collect (printed value :package *package* :pretty t)))))

(defun run-form (mode text package output)
  (let* ((nothing (make-concatenated-stream))
         (terminal (make-two-way-stream nothing output))
         (*package* package) (*readtable* (copy-readtable nil)) (*read-eval* t)
         (*standard-output* output) (*error-output* output) (*trace-output* output)
         (*standard-input* nothing) (*query-io* terminal) (*debug-io* terminal) (*terminal-io* terminal))
    (if (string= mode "compile") (compiled text) (evaluated text))))

(defun evaluate (tag mode text package-name)
  "Answers (package output outcome); the outcome is one of those above, or (:REFUSED text): then nothing ran."
  (handler-case
      (let ((package (package-of package-name))
            (output (make-instance 'bounded :room 40000))
            (outer (compute-restarts)))
        (assert-one-form text)
        (let ((outcome (stoppable tag (lambda ()
                                        (netted (lambda () (run-form mode text package output)) outer)))))
          (list (package-name package) (text-of output) outcome)))
    (refusal (c) (list package-name "" (list :refused (message-of c))))))

(defun about ()
  (list :ok (format nil "~A ~A" (lisp-implementation-type) (lisp-implementation-version)) (sb-posix:getpid)))
