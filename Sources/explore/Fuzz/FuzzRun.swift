import DispatchStore
import Foundation

typealias FuzzStore = Store<FuzzModel, FuzzAction>

/// A model that counts its commits.
struct FuzzModel: ModelType {
  var count = 0
}

/// An action of a program, by its place there.
struct FuzzAction: ActionType {
  let number: Int
}

/// The error that the code of a program throws.
struct FuzzError: Error {}

/// A run of a program: its dispatchers and stores, what it has made so far, and what happened.
final class FuzzRun: Sendable {
  let program: FuzzProgram
  let host: any FuzzHost
  let log = FuzzLog()
  let present = Shared(Present())
  /// The waits inside the library now, for the report of a hang.
  let waits = Shared<[Int: String]>([:])
  let waitCount = Shared(0)
  /// How many observers run on the shared queue, and on the main queue.
  let observersAtOnce = Shared<[FuzzProgram.ObserverPlan.Place: Int]>([:])
  /// The queue of all observers that share one.
  let sharedQueue = DispatchQueue(label: "fuzz")
  /// How many waits were refused.
  let refusals = Shared(0)

  struct Present {
    var dispatchers: [Dispatcher] = []
    var limits: [DispatchLimit] = []
    var rates: [RateLimit] = []
    var breaker = CircuitBreaker(failures: 1, pause: .milliseconds(2))
    var groupHandles: [Int: ActionGroupHandle] = [:]
    var followers: [FuzzFollower] = []
    var stores: [FuzzStore?] = []
    var tokens: [ObserverToken] = []
    var handles: [Int: DispatchHandle] = [:]
    /// How those ended that tasks have sent.
    var sent: [Int: DispatchResult] = [:]
    /// The dispatches, and the groups, that were made: what runs again does not make them again.
    var made: Set<Int> = []
    var madeGroups: Set<Int> = []
    var groups: [Int: ActionGroupResult] = [:]
    var attempts: [FuzzCheck.Part.Key: Int] = [:]
    /// By action: how often its effect has run.
    var effectRuns: [Int: Int] = [:]
    /// Dispatches that were made in an exclusive section which has been left.
    var accepted: Set<Int> = []
    /// Operations that reducers have made, by their actions; none is released under the lock.
    var operations: [Int: [Foundation.Operation]] = [:]
    /// Threads, tasks and operations of the program's own that have not ended.
    var activities = 0
    /// The last commit that each observer has been called for, once the call has ended.
    var observed: [Int]
    var observerCalls: [Int]
    var cancelledObservers: Set<Int> = []
    var warnings: [DispatchWarning.Kind] = []

    init(_ observerCount: Int = 0) {
      observed = Array(repeating: 0, count: observerCount)
      observerCalls = observed
    }
  }

  init(_ program: FuzzProgram, on host: any FuzzHost) {
    self.program = program
    self.host = host
    present.with { $0 = Present(program.observers.count) }
    makeDispatchers()
    makeStores()
    let limits = program.limits.map { DispatchLimit($0.bound, overflow: $0.overflow) }
    let rates = program.rates.map { RateLimit(2, per: .milliseconds(2), overflow: $0) }
    present.with { ($0.limits, $0.rates) = (limits, rates) }
    for place in program.observers.indices { observe(place) }
  }

  private func makeDispatchers() {
    for (place, plan) in program.dispatchers.enumerated() {
      let name = "d\(place)"
      let dispatcher: Dispatcher
      switch plan.queue {
      case .own(let width):
        dispatcher = host.makeDispatcher(name: name, queue: nil)
        dispatcher.queue.maxConcurrentOperationCount = width
      case .users(let width):
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = width
        dispatcher = host.makeDispatcher(name: name, queue: queue)
      case .shared(let other):
        dispatcher = host.makeDispatcher(name: name, queue: present.now.dispatchers[other].queue)
      }
      dispatcher.onWarning { [self] warning in
        present.with { $0.warnings.append(warning.kind) }
      }
      if let effect = program.effects[place] { register(effect, with: dispatcher) }
      for middleware in 0..<program.middlewareCounts[place] {
        dispatcher.register(middleware: FuzzMiddleware(middleware, self))
      }
      present.with { $0.dispatchers.append(dispatcher) }
    }
  }

  private func register(_ plan: FuzzProgram.EffectPlan, with dispatcher: Dispatcher) {
    dispatcher.register(
      effect: Effect(
        FuzzAction.self, policy: plan.policy, runsRegardless: plan.runsRegardless
      ) { [self] action, _ in
        beginActivity()
        log.note(.effect, action.number)
        present.with { $0.effectRuns[action.number, default: 0] += 1 }
        let dispatch = program.dispatches[program.actions[action.number].dispatch]
        // On threads nothing could wait for what follows a dispatch without a handle.
        if host is SimulatedHost || dispatch.hasHandle { try? await runAsync(dispatch.effect) }
        log.note(.effect, action.number)
        endActivity()
      })
  }

  private func makeStores() {
    for (place, plan) in program.stores.enumerated() {
      let store: FuzzStore
      switch plan.kind {
      case .reduces: store = FuzzStore(identifier: "s\(place)", reducer: FuzzReducer(self, place))
      case .applies:
        store = FuzzStore(identifier: "s\(place)", reducer: FuzzApplyingReducer(self, place))
      case .operates:
        store = FuzzStore(identifier: "s\(place)", reducer: FuzzOperatingReducer(self, place))
      }
      let waitFor = WaitFor(
        plan.waitFor.map { "s\($0)" }, runsRegardless: plan.runsRegardless)
      present.now.dispatchers[plan.dispatcher].register(
        store: store, waitFor: waitFor, ownership: plan.isWeak ? .weak : .strong)
      present.with { $0.stores.append(store) }
    }
  }

  // MARK: The present objects

  // Nil once the run has been found to have ended, should code still run then.
  func dispatcher(_ place: Int) -> Dispatcher? {
    present.with { $0.dispatchers.indices.contains(place) ? $0.dispatchers[place] : nil }
  }
  func store(_ place: Int) -> FuzzStore? {
    present.with { $0.stores.indices.contains(place) ? $0.stores[place] : nil }
  }
  func handle(_ dispatch: Int) -> DispatchHandle? { present.now.handles[dispatch] }

  /// A dispatch that may be waited for.
  ///
  /// If no ring is to close, a dispatch of an exclusive section that has not been left may not be waited for. It is
  /// not in line yet, and the dispatches that are in its lane by then would wait for it for ever.
  func handleToWaitFor(_ dispatch: Int) -> DispatchHandle? {
    guard let handle = handle(dispatch) else { return nil }
    let isInLine =
      !program.isTame || !program.dispatches[dispatch].isMadeInSection || handle.hasEnded
      || present.with { $0.accepted.contains(dispatch) }
    return isInLine ? handle : nil
  }

  /// The place of a store in the program.
  static func place(of store: AnyStore) -> Int { Int(store.identifier.dropFirst())! }

  func answer(_ action: FuzzAction, _ store: Int) -> FuzzProgram.Answer {
    guard let answer = program.actions[action.number].answers[store] else {
      log.fail("action \(action.number) reached store s\(store), which should not get it")
      return .init(kind: .noChange, body: 0)
    }
    return answer
  }

  func beginActivity() { present.with { $0.activities += 1 } }
  func endActivity() { present.with { $0.activities -= 1 } }

  /// Notes that code begins to wait inside the library; returns what notes the end.
  func beginWait(_ description: String) -> () -> Void {
    let number = waitCount.add(1)
    waits[number] = description
    return { [waits] in waits[number] = nil }
  }
}
