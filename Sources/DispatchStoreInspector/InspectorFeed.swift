public import DispatchStore

/// The server-sent events of a live page of the inspector.
///
///     let feed = InspectorFeed(of: recorder, at: dispatcher)
///     for await event in feed {
///       try await send("id: \(event.id)\nevent: \(event.name)\ndata: \(event.data)\n\n")
///     }
///
/// Serve it under the address that you give to `DispatchRecorder.livePage(at:events:)`, on loopback only: a log tells what
/// your users do. Each iteration is for one page, and begins with the whole log. If a page comes back, pass the
/// identifier of its last event (`Last-Event-ID`): it gets what came since.
///
/// New entries are looked for four times a second, if the feed is asked so often. If a page is slower than the dispatcher, it
/// gets the latest of what came since it opened, and the number of entries that were not sent. So a page costs no more memory
/// than one event, which ends after 4 MB of text.
public struct InspectorFeed: AsyncSequence, Sendable {
  /// An event, whose data is one line.
  public struct Element: Sendable {
    /// The name: `entries` or `status`.
    public let name: String
    /// The data, as JSON.
    public let data: String
    /// The identifier: the time at which the log began, and the position in it after the entries that were sent.
    public let id: String

    fileprivate init(_ name: String, _ data: String, _ log: DispatchLog, _ position: Int) {
      (self.name, self.data) = (name, data)
      id = "\(log.originMilliseconds)-\(position)"
    }
  }

  private let recorder: DispatchRecorder
  private let dispatcher: Dispatcher
  private let limits: [DispatchLimit]
  private let id: String?
  private let batch: Int
  /// The text of actions, errors and differences in an event, in bytes; the last entry may exceed it.
  private static let byteLimit = 4_000_000

  /// Makes a feed.
  ///
  /// - Parameters:
  ///   - recorder: The recorder.
  ///   - dispatcher: The dispatcher, for its status.
  ///   - limits: The limits to show.
  ///   - id: The last event that the page got; nil to begin with the whole log. So does one of another log.
  ///   - batch: The most entries in an event.
  public init(
    of recorder: DispatchRecorder, at dispatcher: Dispatcher, limits: [DispatchLimit] = [],
    after id: String? = nil, batch: Int = 2_000
  ) {
    (self.recorder, self.dispatcher, self.limits) = (recorder, dispatcher, limits)
    (self.id, self.batch) = (id, Swift.max(1, batch))
  }

  /// Begins a page's feed.
  public func makeAsyncIterator() -> Iterator { Iterator(feed: self) }

  /// The feed of one page.
  public struct Iterator: AsyncIteratorProtocol {
    private let feed: InspectorFeed
    private var position: Int
    /// The end of the log when the feed began: nothing before it is left out to catch up.
    private let firstEnd: Int
    /// The number of entries that the recorder had dropped when the feed began with the whole log.
    private let dropped: Int
    private var notSent = 0
    /// The number of looks until the next status.
    private var looksUntilStatus = 0

    fileprivate init(feed: InspectorFeed) {
      self.feed = feed
      let (log, last) = feed.recorder.log(after: 0, atMost: 0)
      let first = feed.recorder.log(after: 0, atMost: 0, areLatest: false).position
      let parts = (feed.id ?? "").split(separator: "-")
      // A former process had another log, whose positions may be those of this one, too.
      let isOfLog = parts.count == 2 && parts[0] == "\(log.originMilliseconds)"
      let known = isOfLog ? Int(parts[1]) ?? 0 : 0
      let comesBack = known > 0 && known <= last
      (position, dropped) = comesBack ? (known, 0) : (first, first)
      firstEnd = last
    }

    /// Returns the next event; nil once the task is cancelled.
    public mutating func next() async -> Element? {
      while !Task.isCancelled {
        if looksUntilStatus == 0 {
          looksUntilStatus = 4
          return status()
        }
        looksUntilStatus -= 1
        // Sleeps before each look: a busy dispatcher would otherwise have an event for each dispatch, and never a status.
        if position >= firstEnd { try? await Task.sleep(for: .milliseconds(250)) }
        if let entries = entries() { return entries }
      }
      return nil
    }

    private mutating func entries() -> Element? {
      let (log, position) = feed.recorder.log(
        after: position, atMost: feed.batch, areLatest: position >= firstEnd,
        bytes: InspectorFeed.byteLimit)
      notSent += log.droppedCount
      self.position = position
      if log.entries.isEmpty { return nil }
      var json = PageJSON()
      PageChunk(log.entries, after: position - log.entries.count).write(to: &json)
      return Element("entries", json.string, log, position)
    }

    private func status() -> Element {
      var status = InspectorStatus(of: feed.dispatcher, limits: feed.limits)
      (status.dropped, status.notSent) = (dropped, notSent)
      let log = feed.recorder.log(after: .max, atMost: 0).log
      status.origin = log.originMilliseconds
      var json = PageJSON()
      status.write(to: &json)
      return Element("status", json.string, log, position)
    }
  }
}
