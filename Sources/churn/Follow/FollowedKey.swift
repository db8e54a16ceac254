/// A key as the file to follow names it.
struct FollowedKey: Equatable {
  let name: ByteString
  /// The copy of the history; 0 for the first, and for keys that all copies share.
  var copy = 0

  /// The members of a line; bytes that are not UTF-8 are there too, since other bytes may have the same text.
  var members: [(name: String, value: JSONValue)] {
    let text = name.text
    var members: [(name: String, value: JSONValue)] = [("key", .string(text))]
    if !text.utf8.elementsEqual(name.bytes) { members.append(("bytes", .string(hexadecimal))) }
    if copy > 0 { members.append(("copy", .int(copy))) }
    return members
  }

  private var hexadecimal: String {
    name.bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
