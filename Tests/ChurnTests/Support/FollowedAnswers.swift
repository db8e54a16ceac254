import Foundation

@testable import churn

/// The replays that a followed file has, each with the answers that its lines give, applied in order.
struct FollowedAnswers {
  /// One replay.
  struct Replay {
    let mode: String
    let round: Int
    let copies: Int
    var answers = Answers()
    /// Whether the file has its end, too.
    var isComplete = false
    /// Whether that says that the replay was cut.
    var isCut = false
  }

  private(set) var replays: [Replay] = []

  init(_ path: String) throws {
    let text = try String(contentsOfFile: path, encoding: .utf8)
    for line in text.split(separator: "\n") {
      let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
      try apply(object as? [String: Any] ?? [:])
    }
  }

  struct Unexpected: Error {
    let line: String
  }

  private mutating func apply(_ line: [String: Any]) throws {
    if let mode = line["replay"] as? String {
      replays.append(
        Replay(
          mode: mode, round: line["round"] as? Int ?? 0, copies: line["copies"] as? Int ?? 0))
    } else if !replays.isEmpty,
      [line["end"], line["cut"]].contains(where: { $0 as? String == replays.last?.mode })
    {
      let last = replays.count - 1
      replays[last].answers.commits = line["commits"] as? Int ?? -1
      replays[last].answers.changes = line["changes"] as? Int ?? -1
      replays[last].isCut = line["cut"] != nil
      replays[last].isComplete = true
    } else if !replays.isEmpty, !replays[replays.count - 1].isComplete {
      try replays[replays.count - 1].answers.apply(line)
    } else {
      throw Unexpected(line: "\(line)")
    }
  }
}

extension Answers {
  fileprivate mutating func apply(_ line: [String: Any]) throws {
    guard let text = line["key"] as? String else {
      throw FollowedAnswers.Unexpected(line: "\(line)")
    }
    let name = (line["bytes"] as? String).map(Self.bytes) ?? ByteString(text)
    let path = Path(name, copy: line["copy"] as? Int ?? 0)
    let value = line["value"] as? [String: Any]
    switch line["store"] as? String {
    case "files":
      linesByFile[path] = value.map { ($0["lines"] as? Int).map { .lines($0) } ?? .binary }
      lastAuthorByFile[path] = value.map { ByteString($0["lastAuthor"] as? String ?? "") }
    case "authors":
      commitsByAuthor[name] = value?["commits"] as? Int
      addedByAuthor[name] = value?["added"] as? Int
      deletedByAuthor[name] = value?["deleted"] as? Int
      takeoversByAuthor[name] = value?["takeovers"] as? Int
    case "folders": churnByFolder[path] = line["value"] as? Int
    case "days": commitsByDay[try Self.day(text)] = line["value"] as? Int
    default: throw FollowedAnswers.Unexpected(line: "\(line)")
    }
  }

  private static func bytes(_ hexadecimal: String) -> ByteString {
    let digits = hexadecimal.utf8.map { UInt8($0) }
    return ByteString(
      stride(from: 0, to: digits.count, by: 2).map { index in
        UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16)!
      })
  }

  private static func day(_ text: String) throws -> Day {
    let parts = text.split(separator: "-").compactMap { Int($0) }
    let components = DateComponents(
      timeZone: TimeZone(secondsFromGMT: 0), year: parts[0], month: parts[1], day: parts[2])
    guard let date = Calendar(identifier: .gregorian).date(from: components) else {
      throw FollowedAnswers.Unexpected(line: text)
    }
    return Day(ofSecond: Int(date.timeIntervalSince1970))
  }
}
