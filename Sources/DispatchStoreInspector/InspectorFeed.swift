public import DispatchStore

/// The server-sent events of a live page of the inspector.
///
///     let feed = InspectorFeed(of: recorder, at: dispatcher)
///     for await event in feed {
///       try await send("id: \(event.position)\nevent: \(event.name)\ndata: \(event.data)\n\n")
///     }
///
/// Serve it under the address that you give to `DispatchLog.html(status:events:)`, on loopback only: a log tells what
/// your users do. Each iteration is for one page, and begins with what comes from then on, if you pass its position.
/// That is the last one that it got, if it comes back (`Last-Event-ID`).
///
/// New entries are looked for four times a second, if the feed is asked so often. If a page is slower than the dispatcher, it
/// gets the latest entries, and the number of those that were not sent. So a page costs no more memory than these.
public struct InspectorFeed: AsyncSequence, Sendable {
  /// An event, whose data is one line.
  public struct Element: Sendable {
    /// The name: `entries` or `status`.
    public let name: String
    /// The data, as JSON.
    public let data: String
    /// The position in the log after the entries that were sent.
    public let position: Int
  }

  private let recorder: DispatchRecorder
  private let dispatcher: Dispatcher
  private let limits: [DispatchLimit]
  private let position: Int
  private let batch: Int

  /// Makes a feed.
  ///
  /// - Parameters:
  ///   - recorder: The recorder.
  ///   - dispatcher: The dispatcher, for its status.
  ///   - limits: The limits to show.
  ///   - position: The position in the log after which to begin (`DispatchRecorder.log(after:atMost:)`).
  ///   - batch: The most entries in an event.
  public init(
    of recorder: DispatchRecorder, at dispatcher: Dispatcher, limits: [DispatchLimit] = [],
    after position: Int = 0, batch: Int = 2_000
  ) {
    (self.recorder, self.dispatcher, self.limits) = (recorder, dispatcher, limits)
    (self.position, self.batch) = (position, batch)
  }

  /// Begins a page's feed.
  public func makeAsyncIterator() -> Iterator { Iterator(feed: self, position: position) }

  /// The feed of one page.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let feed: InspectorFeed
    fileprivate var position: Int
    private var notSent = 0
    /// The number of looks until the next status.
    private var looksUntilStatus = 0

    fileprivate init(feed: InspectorFeed, position: Int) {
      self.feed = feed
      // A position above the last one is of a former process.
      let last = feed.recorder.log(after: 0, atMost: 0).position
      self.position = (0...last).contains(position) ? position : 0
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
        try? await Task.sleep(for: .milliseconds(250))
        if let entries = entries() { return entries }
      }
      return nil
    }

    private mutating func entries() -> Element? {
      let (log, position) = feed.recorder.log(after: position, atMost: feed.batch)
      notSent += log.droppedCount
      self.position = position
      if log.entries.isEmpty { return nil }
      var json = PageJSON()
      PageChunk(log.entries).write(to: &json)
      return Element(name: "entries", data: json.string, position: position)
    }

    private func status() -> Element {
      var status = InspectorStatus(of: feed.dispatcher, limits: feed.limits)
      status.notSent = notSent
      status.origin = feed.recorder.log(after: .max, atMost: 0).log.originMilliseconds
      var json = PageJSON()
      status.write(to: &json)
      return Element(name: "status", data: json.string, position: position)
    }
  }
}
