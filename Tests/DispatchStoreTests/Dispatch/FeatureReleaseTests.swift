import DispatchStoreTesting
import Testing

@testable import DispatchStore

/// No feature, and no pair of them, keeps a dispatch that has ended: two that refer to each other are a leak at each request.
@Suite("Release with each feature", .timeLimit(.minutes(10)))
struct FeatureReleaseTests {
  private struct Payload: ActionType {
    let object: Mortal
    let attempts = Recorder<Void>()
  }

  private struct Account: ModelType, Codable {
    var count = 0
  }

  private struct FailsFirst: Error {}

  private final class Whole: Middleware {
    func dispatchWillBegin(_ dispatch: DispatchInfo) {}
    func dispatchDidEnd(_ dispatch: DispatchInfo, result: DispatchResult) {}
  }

  enum Answer: CaseIterable, Sendable {
    case reduction, block
  }

  enum Hooks: CaseIterable, Sendable {
    case none, byStore, whole, followed
  }

  enum Control: CaseIterable, Sendable {
    case none, timeout, retry, limit, rate, breaker, exclusive, key, delay, throttle, atomic

    var options: DispatchOptions {
      switch self {
      case .none: []
      case .timeout: .timeout(.seconds(600))
      case .retry: .retry(attempts: 3)
      case .limit: .limited(by: DispatchLimit(1, overflow: .wait))
      case .rate: .rateLimited(by: RateLimit(1_000, per: .seconds(1)))
      case .breaker: .guarded(by: CircuitBreaker(failures: 5, pause: .seconds(1)))
      case .exclusive: .exclusive("key")
      case .key: .idempotencyKey("key")
      case .delay: .delayed(by: .milliseconds(1))
      case .throttle: .throttled("key", per: .milliseconds(1))
      case .atomic: .atomic
      }
    }
  }

  private static func store(_ answer: Answer, failing: Bool) -> Store<Account, HandledAction> {
    @Sendable func fail(_ payload: Payload) throws {
      payload.attempts.record(())
      if failing, payload.attempts.all.count == 1 { throw FailsFirst() }
    }
    return Store(identifier: "account", model: Account()) {
      switch answer {
      case .reduction:
        On(Payload.self) { account, payload in
          try fail(payload)
          account.count += 1
        }
      case .block:
        Perform(Payload.self) { payload, context in
          try fail(payload)
          await Task.yield()
          try context.updateModel { $0.count += 1 }
        }
      }
    }
  }

  // A delayed `.sync` dispatch is cancelled.
  private static func mayRun(_ way: Way, _ control: Control) -> Bool {
    way.mode != .sync || control != .delay
  }

  @Test(arguments: Way.all, Control.allCases)
  func keepsNothingOfADispatchThatHasEnded(_ way: Way, _ control: Control) async throws {
    guard Self.mayRun(way, control) else { return }
    for answer in Answer.allCases where control != .atomic || answer == .reduction {
      try await Self.eachSetting(answer, failing: control == .retry) { dispatcher, released in
        let payload = Payload(object: Mortal(released))
        let options = control.options
        return await dispatcher.run(payload, way, options: options).error
      }
    }
  }

  @Test(arguments: Dispatcher.Mode.everyMode, [Control.none, .key])
  func keepsNothingOfASequenceThatHasEnded(
    _ mode: Dispatcher.Mode, _ control: Control
  ) async throws {
    for answer in Answer.allCases {
      try await Self.eachSetting(answer, failing: false) { dispatcher, released in
        let actions = [Payload(object: Mortal(released))]
        return await dispatcher.dispatch(actions: actions, mode: mode, options: control.options)
          .result.error
      }
    }
  }

  /// Runs a dispatch with each kind of middleware and without, to a store that is saved and to one that is not.
  private static func eachSetting(
    _ answer: Answer, failing: Bool,
    _ run: (Dispatcher, _ released: EventCount) async -> (any Error)?
  ) async throws {
    for hooks in Hooks.allCases {
      for isSaved in [false, true] {
        let dispatcher = Dispatcher()
        let persistence = isSaved ? try await MemoryDatabase().open(for: dispatcher) : nil
        switch hooks {
        case .none: break
        case .byStore: dispatcher.register(middleware: RecordingMiddleware())
        case .whole: dispatcher.register(middleware: Whole())
        case .followed: dispatcher.register(effect: Effect(Payload.self) { _, _ in })
        }
        let store = store(answer, failing: failing)
        if isSaved {
          try await dispatcher.register(store: store, persisted: .model)
        } else {
          dispatcher.register(store: store)
        }
        let released = EventCount(of: 1)
        let error = await run(dispatcher, released)
        #expect(error == nil, "\(answer) \(hooks) \(isSaved)")
        #expect(store.model.count == 1, "\(answer) \(hooks) \(isSaved)")
        await released.full()
        try await persistence?.close()
      }
    }
  }
}
