/// The key of a figure's values: an author, a path, a folder or a day.
///
/// Its description is the key on one line of a report.
protocol FigureKey: Hashable, Comparable, CustomStringConvertible, Sendable {
  /// The key in the file to follow.
  var followedKey: FollowedKey { get }
}

extension ByteString: FigureKey {
  var followedKey: FollowedKey { FollowedKey(name: self) }
}

extension Path: FigureKey {
  var description: String { copy == 0 ? name.description : "\(name) (copy \(copy))" }
  var followedKey: FollowedKey { FollowedKey(name: name, copy: copy) }
}

extension Day: FigureKey {
  var followedKey: FollowedKey { FollowedKey(name: ByteString(description)) }
}
