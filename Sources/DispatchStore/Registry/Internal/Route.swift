import Synchronization

/// Where an action leads: the stores that respond to it, in order, and all that can be worked out once
/// about them.
///
/// A snapshot that one thread takes of its dispatcher's registry and keeps until the registry has
/// changed. Dispatches refer to it without a reference count, a cache line that producers and consumers
/// would both write: the thread counts its outstanding dispatches, consumers those that have ended, each
/// in a cache line of its own. It is released once it was retired and both counts are equal.
final class Route: @unchecked Sendable {
  // because what changes is atomic
  /// Those that respond, in the order in which they run.
  let entries: [StoreEntry]
  let identifiers: [String]
  /// Where there is but one.
  let onlyIdentifier: String?
  /// By store index: the earlier indices that it waits for; nil where no store waits.
  let prerequisites: [[Int]]?
  /// By store index: whether it runs also where a store that it waits for did not finish.
  let runsRegardless: [Bool]
  /// The same stores in order of registration, which a refined order is worked out from.
  let registered: [StoreEntry]
  let chain: MiddlewareChain
  /// Why nothing of a dispatch can run: the stores can't be ordered, or the identifier is unknown.
  let failure: DispatchError?
  /// Whether a dispatch has something to do before its stores: middlewares and witnesses to call, an order
  /// to refine, weakly held stores to look for, an error to end with.
  let needsPreparation: Bool
  let hasMiddleware: Bool
  let hasRefinements: Bool
  let hasWeakStores: Bool
  /// By position: the store indices in the order for the concurrent queue; nil where it is that of the
  /// indices.
  let concurrentOrder: [Int]?
  /// Whether a store that may block its thread delays only those that wait for it, on the concurrent
  /// queue too, where the stores run one after the other.
  let isInlineConcurrently: Bool
  let count: Int
  /// By store index.
  private let targets: UnsafeMutablePointer<Target>

  /// What an inline run needs of an entry, which owns it.
  private struct Target {
    let calls: Unmanaged<ReducerCalls>?
    let store: Unmanaged<AnyObject>?
    let kind: Kind

    enum Kind {
      case reduction, application, operation
      /// The store is held weakly: it has to be looked for.
      case weak
    }
  }

  /// Keeps the count below in a cache line that dispatching threads do not read.
  private let padding: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (
    0, 0, 0, 0, 0, 0, 0, 0
  )
  /// Uses that have ended; from retirement on, less those that were outstanding.
  private let ended = Atomic<Int>(0)

  /// - Parameters:
  ///   - registered: The stores in order of registration.
  ///   - waitFor: What each of them waits for; by default as declared.
  init(
    _ registered: [StoreEntry], waitFor: [WaitFor]? = nil, chain: MiddlewareChain,
    failure: DispatchError? = nil, wasRegistered: (String) -> Bool = { _ in true }
  ) {
    let waits = waitFor ?? registered.map(\.waitFor)
    var (order, failure): (WaitOrder?, DispatchError?) = (nil, failure)
    do {
      order = try WaitOrder(
        zip(registered, waits).map { .init(identifier: $0.identifier, waitFor: $1) },
        wasRegistered: wasRegistered)
    } catch {
      failure = error
    }
    self.failure = failure
    self.registered = registered
    self.chain = chain
    entries = failure == nil ? order.map { $0.order.map { registered[$0] } } ?? [] : []
    identifiers = entries.map(\.identifier)
    onlyIdentifier = identifiers.count == 1 ? identifiers[0] : nil
    prerequisites = failure == nil ? order?.prerequisitesInOrder : nil
    runsRegardless = order.map { $0.order.map { waits[$0].runsRegardless } } ?? []
    // What a reducer has refined once is not refined again.
    hasRefinements = waitFor == nil && registered.contains(where: \.overrides.waitFor)
    hasWeakStores = registered.contains { $0.ownership == .weak }
    hasMiddleware = !chain.middlewares.isEmpty && !entries.isEmpty
    needsPreparation =
      failure != nil || hasRefinements || hasWeakStores || !chain.middlewares.isEmpty
    let concurrentOrder = ConcurrentOrder(
      prerequisites: prerequisites, mayBlock: entries.map { $0.overrides.answer != .reduction })
    isInlineConcurrently = concurrentOrder != nil
    self.concurrentOrder = concurrentOrder?.permutation
    count = entries.count
    targets = .allocate(capacity: count)
    for (index, entry) in entries.enumerated() {
      (targets + index).initialize(to: Self.target(of: entry))
    }
    _ = Unmanaged.passRetained(self)
  }

  private static func target(of entry: StoreEntry) -> Target {
    guard let calls = entry.calls, let object = entry.object else {
      return Target(calls: nil, store: nil, kind: .weak)
    }
    let kind: Target.Kind =
      switch entry.overrides.answer {
      case .reduction: .reduction
      case .application: .application
      case .operation: .operation
      }
    return Target(calls: .passUnretained(calls), store: .passUnretained(object), kind: kind)
  }

  deinit {
    targets.deallocate()
  }

  /// The route with the order that reducers refine for an action, for one dispatch; nil where they keep what
  /// was declared.
  func refined(
    for action: any ActionType, wasRegistered: (String) -> Bool
  ) -> Route? {
    guard hasRefinements else { return nil }
    let refined = registered.map { $0.refinedWaitFor(for: action) }
    guard refined.contains(where: { $0 != nil }) else { return nil }
    let route = Route(
      registered, waitFor: zip(registered, refined).map { $1 ?? $0.waitFor }, chain: chain,
      wasRegistered: wasRegistered)
    route.retire(after: 1)
    return route
  }

  /// Takes an action to the store at an index, on this thread: to the end where it has one at once.
  ///
  /// - Parameter run: The inline run, which makes a record for what needs one.
  @inline(__always)  // a loop over stores that only reduce is this switch: 9 % of `sync-reduction`
  func answer(
    _ action: UnsafeRawPointer, at index: Int, in run: UnsafeMutablePointer<InlineRun>,
    on thread: ThreadState
  ) -> InlineStep {
    let target = targets + index
    switch target.pointee.kind {
    case .reduction:
      return target.pointee.calls.unsafelyUnwrapped._withUnsafeGuaranteedRef { calls in
        let answer = calls.reduce(action, thread)
        guard case .observed = answer else { return InlineStep(answer) }
        return calls.reduceObserved(
          action, target.pointee.store.unsafelyUnwrapped.takeUnretainedValue(),
          run.pointee.makeRecord(on: thread), thread)
      }
    case .application:
      return target.pointee.calls.unsafelyUnwrapped._withUnsafeGuaranteedRef { calls in
        target.pointee.store.unsafelyUnwrapped._withUnsafeGuaranteedRef {
          InlineStep(calls.apply(action, $0))
        }
      }
    case .operation:
      return target.pointee.calls.unsafelyUnwrapped._withUnsafeGuaranteedRef { calls in
        let record = run.pointee.makeRecord(on: thread)
        return target.pointee.store.unsafelyUnwrapped._withUnsafeGuaranteedRef {
          calls.answer(action, $0, record, thread)
        }
      }
    case .weak:
      return answerWeakly(action, at: index, in: run, on: thread)
    }
  }

  /// The same for a store that is held weakly; one that is gone ends its part as cancelled.
  private func answerWeakly(
    _ action: UnsafeRawPointer, at index: Int, in run: UnsafeMutablePointer<InlineRun>,
    on thread: ThreadState
  ) -> InlineStep {
    guard let (calls, store) = entries[index].target else { return .ended(.cancelled) }
    if entries[index].overrides.answer == .application {
      return InlineStep(calls.apply(action, store))
    }
    if entries[index].overrides.answer == .reduction {
      let answer = calls.reduce(action, thread)
      guard case .observed = answer else { return InlineStep(answer) }
      return calls.reduceObserved(action, store, run.pointee.makeRecord(on: thread), thread)
    }
    return calls.answer(action, store, run.pointee.makeRecord(on: thread), thread)
  }

  /// Why a store must not run, by how those that it waits for ended.
  ///
  /// - Parameter outcomes: By store index.
  func dependencyFailure(at index: Int, _ outcomes: [StoreOutcome]) -> DispatchError? {
    guard !runsRegardless[index],
      let failed = prerequisites?[index].first(where: { !outcomes[$0].isFinished })
    else { return nil }
    return .dependencyFailed(
      entries[index].identifier, after: entries[failed].identifier, outcomes[failed])
  }

  // MARK: Outstanding dispatches

  /// A dispatch that refers to it has ended.
  @inline(__always)
  func end() {
    if ended.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue == 0 { release() }
  }

  /// No further dispatch refers to it: it is released with the last of those that do.
  func retire(after outstanding: Int) {
    if ended.wrappingSubtract(outstanding, ordering: .acquiringAndReleasing).newValue == 0 {
      release()
    }
  }

  private func release() {
    Unmanaged.passUnretained(self).release()
  }
}
