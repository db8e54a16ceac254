extension String {
  /// The string with its line breaks escaped, so that it takes one line of a log or a report.
  var onOneLine: String {
    contains(where: \.isNewline)
      ? split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        .joined(separator: "\\n")
      : self
  }
}
