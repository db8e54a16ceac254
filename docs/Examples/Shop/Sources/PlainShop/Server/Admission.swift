import HTTPTypes
import Hummingbird
import ServiceLifecycle
import Synchronization

/// Bounds how many requests are in flight, and how long each may take.
///
/// All have the same time limit, so they expire in the order in which they came. One sweep every
/// 100 ms finds them, which is far cheaper than a timer for each request.
final class Admission: Service {
  private typealias Answer = CheckedContinuation<Response, any Error>

  private struct Waiter {
    let answer: Answer
    let deadline: ContinuousClock.Instant
    let work: Task<Void, Never>
  }

  private struct State {
    var inFlight = 0
    var waiters: [Int: Waiter] = [:]
    var oldest = 0
    var next = 0

    mutating func admit() -> Bool {
      guard inFlight < Admission.maximumInFlight else { return false }
      inFlight += 1
      return true
    }

    mutating func expired(at now: ContinuousClock.Instant) -> [Waiter] {
      var expired: [Waiter] = []
      while oldest < next {
        if let waiter = waiters[oldest] {
          if waiter.deadline > now { break }
          expired.append(waiter)
          waiters[oldest] = nil
        }
        oldest += 1
      }
      return expired
    }
  }

  static let maximumInFlight = 1000
  static let timeLimit = Duration.seconds(5)

  private let state = Mutex(State())

  /// Runs `work`, or throws if there are too many requests, or if it takes too long.
  func admit(_ work: @escaping @Sendable () async throws -> Response) async throws -> Response {
    guard state.withLock({ $0.admit() }) else {
      throw ShopError(.tooManyRequests, "There are too many requests. Try again.")
    }
    return try await withCheckedThrowingContinuation { answer in
      state.withLock { state in
        let id = state.next
        state.next += 1
        // The task can't end before its waiter is stored, because it needs the lock for that.
        let task = Task {
          do {
            let response = try await work()
            self.end(id)?.resume(returning: response)
          } catch {
            self.end(id)?.resume(throwing: error)
          }
        }
        state.waiters[id] = Waiter(answer: answer, deadline: .now + Self.timeLimit, work: task)
      }
    }
  }

  /// Takes a request out, whose answer is nil if it has expired.
  private func end(_ id: Int) -> Answer? {
    state.withLock {
      $0.inFlight -= 1
      return $0.waiters.removeValue(forKey: id)?.answer
    }
  }

  /// Ends requests that take too long, until the service ends.
  func run() async throws {
    // The cancellation of the sleep is the regular end.
    try? await cancelWhenGracefulShutdown {
      while true {
        try await Task.sleep(for: .milliseconds(100))
        for waiter in self.state.withLock({ $0.expired(at: .now) }) {
          waiter.work.cancel()
          waiter.answer.resume(throwing: ShopError(.timeout, "The request took too long."))
        }
      }
    }
  }
}

/// Admits requests that change orders and stock.
///
/// Probes and metrics always pass; reads do until the service ends.
struct AdmittingResponder<Base: HTTPResponder>: HTTPResponder where Base.Context: Sendable {
  let base: Base
  let admission: Admission

  func respond(to request: Request, context: Base.Context) async throws -> Response {
    let path = request.uri.path
    if path.hasPrefix("/health") || path == "/metrics" {
      return try await base.respond(to: request, context: context)
    }
    if Task.isShuttingDownGracefully {
      throw ShopError(.unavailable, "The service ends. Try again.")
    }
    guard request.method == .post else {
      return try await base.respond(to: request, context: context)
    }
    return try await admission.admit { [base] in
      try await base.respond(to: request, context: context)
    }
  }
}
