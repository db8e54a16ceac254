import DispatchStore

extension Diff {
  /// Returns an action on one line: its own description if it has one, as a logger prints it, or one made by
  /// reflection.
  static func line(action: any ActionType) -> String {
    guard let action = action as? any CustomStringConvertible else { return line(action) }
    return action.description.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      .joined(separator: "\\n")
  }
}
