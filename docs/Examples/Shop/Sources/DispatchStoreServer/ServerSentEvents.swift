import AsyncAlgorithms
import HTTPTypes
public import Hummingbird
import ServiceLifecycle
import Synchronization

/// An event of a server-sent stream.
public struct ServerSentEvent: Sendable {
  /// The identifier, which a client that comes back sends as `Last-Event-ID`.
  public var id: String?
  /// The event's name.
  public var event: String?
  /// The data, of any number of lines.
  public var data: String

  /// Makes an event.
  public init(id: String? = nil, event: String? = nil, data: String) {
    (self.id, self.event, self.data) = (id, event, data)
  }

  /// The event in the form in which it is sent.
  var text: String {
    // A newline in a field would end it, and begin another one.
    let fields = [("id", id), ("event", event)].compactMap { name, value in
      value.map { "\(name): \($0.filter { !$0.endsLine })\n" }
    }
    // A look at the bytes first: to look for lines takes 100 times as long, and most data are one line.
    let isOneLine = !data.utf8.contains { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
    let lines =
      isOneLine
      ? [data[...]] : data.split(omittingEmptySubsequences: false, whereSeparator: \.endsLine)
    return fields.joined() + lines.map { "data: \($0)\n" }.joined() + "\n"
  }
}

extension Character {
  /// Whether it ends a line of a stream; other newlines of Unicode don't.
  fileprivate var endsLine: Bool { ["\n", "\r", "\r\n"].contains(self) }
}

/// Bounds the streams of events that are open at the same time: each takes a connection and some tasks for as long as its
/// client likes.
public final class StreamLimit: Sendable {
  let bound: Int
  private let count = Atomic(0)

  /// A stream that is open, until it is released.
  final class Stream: Sendable {
    private let limit: StreamLimit
    init(_ limit: StreamLimit) { self.limit = limit }
    deinit { limit.count.subtract(1, ordering: .relaxed) }
  }

  /// Makes a limit of a number of streams.
  public init(_ bound: Int) { self.bound = bound }

  /// Returns a stream; nil if there are too many.
  func open() -> Stream? {
    let stream = Stream(self)
    return count.add(1, ordering: .relaxed).newValue <= bound ? stream : nil
  }
}

extension Response {
  /// A response that sends the events of a sequence as they come.
  ///
  /// The next event is asked for when the last one is sent, so a slow client slows the sequence. A comment is sent at
  /// each heartbeat: it keeps proxies from closing the connection, and finds out that a client has gone. The response
  /// ends with the sequence, and at graceful shutdown, after which clients come back with `Last-Event-ID`. Clients that
  /// don't read are a matter of the server: see `connectionCloser`.
  ///
  /// - Parameters:
  ///   - events: The events.
  ///   - limit: A limit for this and other streams: one too many is answered with 503.
  ///   - heartbeat: The time between two comments.
  ///   - clock: The clock of the heartbeat.
  public static func serverSentEvents<Events: AsyncSequence & Sendable>(
    _ events: Events, within limit: StreamLimit, heartbeat: Duration = .seconds(15),
    clock: any Clock<Duration> = ContinuousClock()
  ) throws -> Response where Events.Element == ServerSentEvent {
    guard let stream = limit.open() else {
      return try .error(
        .serviceUnavailable, "\(limit.bound) streams are open already. Try again later.",
        headers: [.retryAfter: "10"])
    }
    let body = ResponseBody { writer in
      // It counts until the response is released, however that ends.
      defer { withExtendedLifetime(stream) {} }
      let lines = AsyncThrowingChannel<String, any Error>()
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          do {
            for try await event in events { await lines.send(event.text) }
            lines.finish()
          } catch {
            lines.fail(error)
          }
        }
        group.addTask {
          while (try? await clock.sleep(for: heartbeat)) != nil {
            await lines.send(": heartbeat\n\n")
          }
        }
        try await withGracefulShutdownHandler {
          for try await line in lines { try await writer.write(ByteBuffer(string: line)) }
        } onGracefulShutdown: {
          lines.finish()
        }
        try await writer.finish(nil)
        group.cancelAll()
      }
    }
    return Response(
      status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-cache"],
      body: body)
  }
}
