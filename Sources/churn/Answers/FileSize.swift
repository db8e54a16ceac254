/// The size of a file.
enum FileSize: Equatable, Sendable {
  case lines(Int)
  /// A change of the file was binary, so that its lines are not known.
  case binary
}

extension FileSize: CustomStringConvertible {
  var description: String {
    switch self {
    case .lines(let count): "\(count)"
    case .binary: "binary"
    }
  }
}

extension FileSize {
  /// The number of lines; null if they are not known.
  var json: JSONValue {
    switch self {
    case .lines(let count): .int(count)
    case .binary: .null
    }
  }
}
