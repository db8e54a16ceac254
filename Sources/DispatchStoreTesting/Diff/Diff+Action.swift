import DispatchStore

extension Diff {
  /// An action on one line: its own description, as in a logger's lines, or else by reflection.
  static func line(action: any ActionType) -> String {
    guard let action = action as? any CustomStringConvertible else { return line(action) }
    return action.description.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      .joined(separator: "\\n")
  }
}
