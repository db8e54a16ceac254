/// The syntax of a log's fields: pure functions that parse bytes, or return nil.
enum RecordSyntax {
  /// `\x01`, which begins a commit's first field.
  static let commitMark: UInt8 = 1
  static let tab = UInt8(ascii: "\t")
  static let newline = UInt8(ascii: "\n")
  static let colon = UInt8(ascii: ":")

  /// The hash in `\x01` + hash: 40 hexadecimal digits, or 64 in a repository of the newer format.
  static func hash(_ field: Span<UInt8>) -> ByteString? {
    guard field.count == 41 || field.count == 65, field[0] == commitMark else { return nil }
    for index in 1..<field.count where !isHexDigit(field[index]) { return nil }
    return ByteString(field.extracting(1..<field.count))
  }

  /// Seconds since 1970.
  static func time(_ field: Span<UInt8>) -> Int? {
    guard !field.isEmpty else { return nil }
    let isNegative = field[0] == UInt8(ascii: "-")
    let digits = field.extracting((isNegative ? 1 : 0)..<field.count)
    // A limit far beyond any calendar keeps every later calculation with it free of overflow.
    guard let seconds = number(digits, upTo: 1 << 48) else { return nil }
    return isNegative ? -seconds : seconds
  }

  /// The kind of change that `:oldmode newmode oldblob newblob STATUS` says for its path.
  ///
  /// The first raw record of a commit has a newline before it.
  static func raw(_ field: Span<UInt8>) -> Change.Kind? {
    let start = startOfRaw(field)
    let end = field.count - 2
    // The shortest has blob names of one digit.
    guard end >= start + 18, field[start] == colon, field[end] == UInt8(ascii: " "),
      isMode(field, at: start + 1), isMode(field, at: start + 8),
      areBlobs(field.extracting((start + 15)..<end))
    else { return nil }
    switch field[end + 1] {
    case UInt8(ascii: "A"): return .created
    case UInt8(ascii: "D"): return .deleted
    case UInt8(ascii: "M"), UInt8(ascii: "T"): return .modified
    default: return nil
    }
  }

  /// The figures of a record `added TAB deleted TAB path`, and the position of its path.
  struct Numstat {
    let lines: LineCount?
    let pathStart: Int
  }

  static func numstat(_ field: Span<UInt8>) -> Numstat? {
    guard let first = index(of: tab, in: field, from: 0),
      let second = index(of: tab, in: field, from: first + 1)
    else { return nil }
    let added = field.extracting(0..<first)
    let deleted = field.extracting((first + 1)..<second)
    if isDash(added), isDash(deleted) { return Numstat(lines: nil, pathStart: second + 1) }
    // Up to here, four billion records add up without overflow.
    guard let added = number(added, upTo: Int(Int32.max)),
      let deleted = number(deleted, upTo: Int(Int32.max))
    else { return nil }
    return Numstat(lines: LineCount(added: added, deleted: deleted), pathStart: second + 1)
  }

  private static func startOfRaw(_ field: Span<UInt8>) -> Int {
    !field.isEmpty && field[0] == newline ? 1 : 0
  }

  /// Six octal digits and a space.
  private static func isMode(_ field: Span<UInt8>, at start: Int) -> Bool {
    for index in start..<(start + 6) where !(UInt8(ascii: "0")...UInt8(ascii: "7") ~= field[index])
    {
      return false
    }
    return field[start + 6] == UInt8(ascii: " ")
  }

  /// Two abbreviated names with a space between them.
  private static func areBlobs(_ field: Span<UInt8>) -> Bool {
    guard let space = index(of: UInt8(ascii: " "), in: field, from: 0),
      space > 0, space < field.count - 1
    else { return false }
    for index in 0..<field.count where index != space && !isHexDigit(field[index]) { return false }
    return true
  }

  private static func isHexDigit(_ byte: UInt8) -> Bool {
    UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte
  }

  private static func isDash(_ field: Span<UInt8>) -> Bool {
    field.count == 1 && field[0] == UInt8(ascii: "-")
  }

  private static func number(_ field: Span<UInt8>, upTo most: Int) -> Int? {
    guard !field.isEmpty else { return nil }
    var value = 0
    for index in 0..<field.count {
      let digit = Int(field[index]) - 48
      guard 0...9 ~= digit else { return nil }
      value = value * 10 + digit
      guard value <= most else { return nil }
    }
    return value
  }

  static func index(of byte: UInt8, in field: Span<UInt8>, from start: Int) -> Int? {
    var index = start
    while index < field.count {
      if field[index] == byte { return index }
      index += 1
    }
    return nil
  }
}
