/// A value of the answers, as the file to follow names it.
protocol FollowedValue: Sendable {
  var json: JSONValue { get }
}

extension FilesModel.Answer: FollowedValue {
  var json: JSONValue {
    .object([("lines", size.json), ("lastAuthor", .string(lastAuthor.text))])
  }
}

extension AuthorsModel.Author: FollowedValue {
  var json: JSONValue {
    .object([
      ("commits", .int(commits)), ("added", .int(added)), ("deleted", .int(deleted)),
      ("takeovers", .int(takeovers)),
    ])
  }
}

/// The churn of a folder, the commits of a day.
extension Int: FollowedValue {
  var json: JSONValue { .int(self) }
}
