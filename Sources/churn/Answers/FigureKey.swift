/// The key of a figure's values: an author, a path, a folder or a day.
protocol FigureKey: Hashable, Comparable, Sendable {
  /// The key on one line of a report.
  var printable: String { get }
  /// The key in the file to follow.
  var followedKey: FollowedKey { get }
}

extension ByteString: FigureKey {
  var followedKey: FollowedKey { FollowedKey(name: self) }
}

extension ByteString: CustomStringConvertible {
  var description: String { printable }
}

extension Path: FigureKey {
  var printable: String { copy == 0 ? name.printable : "\(name.printable) (copy \(copy))" }
  var followedKey: FollowedKey { FollowedKey(name: name, copy: copy) }
}

extension Path: CustomStringConvertible {
  var description: String { printable }
}

extension Day: FigureKey {
  var printable: String { description }
  var followedKey: FollowedKey { FollowedKey(name: ByteString(description)) }
}
