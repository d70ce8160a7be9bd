(defpackage "SHOP"
  (:use "COMMON-LISP")
  (:export "PRICE" "TOTAL" "*RATE*"))

(in-package "SHOP")

(defvar *rate* 19 "Tax in per cent.")

(defun price (cents &key (rate *rate*))
  "What a customer pays for CENTS before tax."
  (round (* cents (+ 100 rate)) 100))

(defun total (items)
  "What a customer pays for all ITEMS, a list of cents before tax."
  (reduce #'+ items :key #'price))
