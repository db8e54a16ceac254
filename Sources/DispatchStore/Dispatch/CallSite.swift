/// The place in the source from which an action was dispatched.
public struct CallSite: Sendable, CustomStringConvertible {
  /// The module and file, as `#fileID` gives them.
  public let fileID: StaticString
  /// The line in that file.
  public let line: UInt

  /// Module, file and line, such as `Bank/Transfers.swift:41`.
  public var description: String { "\(fileID):\(line)" }
}
