public import Foundation

extension DispatchLog {
  /// The log as JSON lines: a line for the log itself, and one for each entry.
  ///
  /// Times are nanoseconds.
  public func jsonLines() throws -> Data {
    let encoder = Self.makeEncoder()
    var data = try encoder.encode(Head(self))
    for entry in entries {
      data.append(UInt8(ascii: "\n"))
      try data.append(encoder.encode(entry))
    }
    data.append(UInt8(ascii: "\n"))
    return data
  }

  static func makeEncoder() -> JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // `PlainDecoder` reads them as numbers.
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    return encoder
  }

  /// Reads a log from its JSON lines.
  ///
  /// Throws a `LogFormatError`, which names the line.
  public init(jsonLines data: Data) throws {
    let decoder = JSONDecoder()
    var log: DispatchLog?
    let lines = data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() where !line.allSatisfy({ $0 <= UInt8(ascii: " ") }) {
      do {
        if log == nil {
          log = try decoder.decode(Head.self, from: line).log()
        } else {
          log?.entries.append(try decoder.decode(Entry.self, from: line))
        }
      } catch let error as LogFormatError {
        throw error
      } catch {
        throw LogFormatError(line: index + 1, reason: "\(error)")
      }
    }
    guard let log else { throw LogFormatError(line: 1, reason: "There is no line.") }
    self = log
  }

  /// The first line.
  private struct Head: Codable {
    static let format = "dispatchstore-log"
    static let version = 1
    var format = Self.format
    var version = Self.version
    let dispatcher: String
    let origin: Double
    let dropped: Int

    init(_ log: DispatchLog) {
      (dispatcher, dropped) = (log.dispatcher, log.droppedCount)
      origin = log.origin.timeIntervalSince1970
    }

    func log() throws -> DispatchLog {
      guard format == Self.format, version == Self.version else {
        throw LogFormatError(
          line: 1,
          reason: """
            It is "\(format)" in version \(version), and this program reads "\(Self.format)" in version \
            \(Self.version).
            """)
      }
      guard abs(origin) < 1e11, dropped >= 0 else {
        throw LogFormatError(
          line: 1, reason: "Its origin, \(origin) s, or its dropped entries, \(dropped), can't be.")
      }
      return DispatchLog(
        dispatcher: dispatcher, origin: Date(timeIntervalSince1970: origin), droppedCount: dropped)
    }
  }
}

/// The reason why a log was not read.
public struct LogFormatError: Error, CustomStringConvertible {
  /// The number of the line, from 1 on.
  public let line: Int
  /// The reason why it can't be read.
  public let reason: String

  /// The line and the reason.
  public var description: String { "Line \(line) of the log can't be read. \(reason)" }
}

extension DispatchLog.Entry: Codable {
  private enum Key: String, CodingKey {
    case kind, id, parent, outside, actions, mode, lane, lanes
    case began, queued, duration, site, error, outcome, stores
  }

  /// Encodes the entry, with times in nanoseconds.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(kind, forKey: .kind)
    try container.encodeIfPresent(id, forKey: .id)
    try container.encodeIfPresent(parent, forKey: .parent)
    if isOutsideBlocks { try container.encode(true, forKey: .outside) }
    try container.encode(actions, forKey: .actions)
    try container.encode(mode, forKey: .mode)
    try container.encodeIfPresent(lane, forKey: .lane)
    if lanes.count > 1 { try container.encode(lanes, forKey: .lanes) }
    try container.encode(began.wholeNanoseconds, forKey: .began)
    try container.encode(timeQueued.wholeNanoseconds, forKey: .queued)
    try container.encode(duration.wholeNanoseconds, forKey: .duration)
    try container.encode(callSite, forKey: .site)
    try container.encodeIfPresent(error, forKey: .error)
    try container.encodeIfPresent(outcome, forKey: .outcome)
    try container.encode(stores, forKey: .stores)
  }

  /// Decodes an entry.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    kind = try container.decode(Kind.self, forKey: .kind)
    id = try container.decodeIfPresent(UInt64.self, forKey: .id)
    parent = try container.decodeIfPresent(UInt64.self, forKey: .parent)
    isOutsideBlocks = try container.decodeIfPresent(Bool.self, forKey: .outside) ?? false
    actions = try container.decode([DispatchLog.Action].self, forKey: .actions)
    mode = try container.decode(String.self, forKey: .mode)
    let lane = try container.decodeIfPresent(String.self, forKey: .lane)
    lanes =
      try container.decodeIfPresent([String].self, forKey: .lanes) ?? (lane.map { [$0] } ?? [])
    began = .nanoseconds(try container.decode(Int64.self, forKey: .began))
    timeQueued = .nanoseconds(try container.decode(Int64.self, forKey: .queued))
    duration = .nanoseconds(try container.decode(Int64.self, forKey: .duration))
    callSite = try container.decode(String.self, forKey: .site)
    error = try container.decodeIfPresent(String.self, forKey: .error)
    outcome = try container.decodeIfPresent(DispatchLog.StoreRun.Outcome.self, forKey: .outcome)
    stores = try container.decode([DispatchLog.StoreRun].self, forKey: .stores)
  }
}

extension DispatchLog.StoreRun: Codable {
  private enum Key: String, CodingKey {
    case store, outcome, detail, queued, duration, versions, differences, omitted, replacement, part
  }

  /// Encodes the run, with times in nanoseconds.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(store, forKey: .store)
    try container.encode(outcome, forKey: .outcome)
    try container.encodeIfPresent(detail, forKey: .detail)
    try container.encode(timeQueued.wholeNanoseconds, forKey: .queued)
    try container.encode(duration.wholeNanoseconds, forKey: .duration)
    try container.encode([oldVersion, newVersion], forKey: .versions)
    try container.encode(differences, forKey: .differences)
    if omittedCount > 0 { try container.encode(omittedCount, forKey: .omitted) }
    try container.encodeIfPresent(replacement, forKey: .replacement)
    if !tookPart { try container.encode(false, forKey: .part) }
  }

  /// Decodes a run.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    store = try container.decode(String.self, forKey: .store)
    outcome = try container.decode(Outcome.self, forKey: .outcome)
    detail = try container.decodeIfPresent(String.self, forKey: .detail)
    timeQueued = .nanoseconds(try container.decode(Int64.self, forKey: .queued))
    duration = .nanoseconds(try container.decode(Int64.self, forKey: .duration))
    let versions = try container.decode([UInt64].self, forKey: .versions)
    guard versions.count == 2 else {
      throw DecodingError.dataCorruptedError(
        forKey: .versions, in: container,
        debugDescription: "versions has the old and the new version, not \(versions).")
    }
    (oldVersion, newVersion) = (versions[0], versions[1])
    differences = try container.decode([DispatchLog.Difference].self, forKey: .differences)
    omittedCount = try container.decodeIfPresent(Int.self, forKey: .omitted) ?? 0
    replacement = try container.decodeIfPresent(String.self, forKey: .replacement)
    tookPart = try container.decodeIfPresent(Bool.self, forKey: .part) ?? true
  }
}
