/// The file and line that called `dispatch`.
public struct CallSite: @unchecked Sendable, CustomStringConvertible {
  // because `start` points to a literal, which is never released
  @usableFromInline let start: UnsafePointer<UInt8>
  @usableFromInline let count: UInt32
  @usableFromInline let lineNumber: UInt32

  @inlinable
  init(_ fileID: StaticString, _ line: UInt) {
    // Any literal has a pointer, except one that was made as a single Unicode scalar.
    let literal = fileID.hasPointerRepresentation ? fileID : "?"
    start = literal.utf8Start
    count = UInt32(truncatingIfNeeded: literal.utf8CodeUnitCount)
    lineNumber = UInt32(truncatingIfNeeded: line)
  }

  /// The module and file, in the form of `#fileID`.
  public var fileID: String {
    String(decoding: UnsafeBufferPointer(start: start, count: Int(count)), as: UTF8.self)
  }

  /// The line in the file.
  public var line: UInt { UInt(lineNumber) }

  /// Module, file and line, such as `Bank/Transfers.swift:41`.
  public var description: String { "\(fileID):\(line)" }
}
