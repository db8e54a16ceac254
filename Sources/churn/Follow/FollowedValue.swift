/// A value of the answers, as the file to follow names it.
protocol FollowedValue: Sendable {
  associatedtype Answer: Equatable
  /// The part that belongs to the answers; nil if none does.
  var answer: Answer? { get }
  static func json(of answer: Answer) -> JSONValue
}

extension FilesModel.File: FollowedValue {
  static func json(of answer: FilesModel.Answer) -> JSONValue {
    .object([("lines", answer.size.json), ("lastAuthor", .string(answer.lastAuthor.text))])
  }
}

extension AuthorsModel.Author: FollowedValue {
  var answer: Self? { self }

  static func json(of author: Self) -> JSONValue {
    .object([
      ("commits", .int(author.commits)), ("added", .int(author.added)),
      ("deleted", .int(author.deleted)), ("takeovers", .int(author.takeovers)),
    ])
  }
}

/// The churn of a folder, the commits of a day.
extension Int: FollowedValue {
  var answer: Int? { self }

  static func json(of count: Int) -> JSONValue { .int(count) }
}
