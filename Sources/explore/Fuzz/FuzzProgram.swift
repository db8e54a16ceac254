import DispatchStore

/// A program of nested dispatches, waits and commits, drawn from a seed.
///
/// A value without threads: plans refer to each other by their places in its arrays. Each dispatch is made once
/// at most, so every run ends, or a wait hangs.
struct FuzzProgram: Sendable {
  let seed: UInt64
  /// Whether no wait can close a ring, so that none may be refused.
  ///
  /// Code of a dispatch then waits only for dispatches that it made itself, which wait for nothing else and
  /// need neither a lane nor the main queue.
  var isTame = true
  /// Whether dispatches have limits, keys and names.
  var isControlled = false
  var limits: [LimitPlan] = []
  /// The rate limits, by their treatment of dispatches above the rate.
  var rates: [RateLimit.Overflow] = []
  var dispatchers: [DispatcherPlan] = []
  var stores: [StorePlan] = []
  var observers: [ObserverPlan] = []
  /// How many middlewares each dispatcher has; `hooks` say what they do.
  var middlewareCounts: [Int] = []
  var hooks: [HookPlace: HookPlan] = [:]
  /// The calls that threads outside of dispatches make, side by side.
  var roots: [RootPlan] = []
  var dispatches: [DispatchPlan] = []
  /// The actions of all dispatches.
  var actions: [ActionPlan] = []
  var groups: [GroupPlan] = []
  /// Whether groups are drawn; then no dispatch has a time limit, at which its result would be there before its end.
  var hasGroups = false
  /// By dispatcher: its effect, which follows all actions; nil if it has none.
  var effects: [EffectPlan?] = []
  /// The first one does nothing.
  var bodies: [[Statement]] = [[]]

  /// The place of a list of statements in `bodies`.
  typealias Body = Int
}

extension FuzzProgram {
  struct DispatcherPlan: Sendable {
    enum Queue: Hashable, Sendable {
      /// A queue of its own, with this width.
      case own(width: Int)
      /// A queue that the program made, so wide.
      case users(width: Int)
      /// The queue of an earlier dispatcher.
      case shared(with: Int)
    }

    var queue: Queue
  }

  struct StorePlan: Sendable {
    /// Which methods its reducer overrides.
    enum Kind: Sendable, CaseIterable { case reduces, applies, operates }

    var dispatcher: Int
    var kind: Kind
    var waitFor: [Int] = []
    var runsRegardless = false
    var isWeak = false
  }

  struct ObserverPlan: Sendable {
    enum Kind: Sendable, CaseIterable { case inline, projection, queue, queuedProjection, main }

    /// A serial queue that observers share.
    enum Place: Hashable, Sendable { case sharedQueue, mainQueue }

    var store: Int
    var kind: Kind
    /// The body, by the number of the call.
    var calls: [Int: Body] = [:]
  }

  /// Whether all observers on queues have the same one; not drawn, so that seeds draw what they have drawn before.
  var sharesObserverQueue: Bool { seed.isMultiple(of: 2) }

  /// Whether there are cancelled tasks, several lanes, pacing and followers; not drawn, for the same reason.
  var isExtended: Bool { seed / 2 % 2 == 1 }

  /// Whether statements close dispatchers.
  var hasClosing: Bool { isExtended && seed / 4 % 2 == 1 }

  /// The serial queue that an observer shares with others; nil if there is none.
  func serialPlace(of observer: Int) -> ObserverPlan.Place? {
    switch observers[observer].kind {
    case .inline, .projection: nil
    case .queue, .queuedProjection: sharesObserverQueue ? .sharedQueue : nil
    case .main: .mainQueue
    }
  }

  struct RootPlan: Sendable {
    /// Whether it is a task, or else a thread.
    var isTask: Bool
    var body: Body
  }

  /// A middleware's hooks for one action and store.
  struct HookPlace: Hashable, Sendable {
    var middleware: Int
    var action: Int
    var store: Int
  }

  struct HookPlan: Sendable {
    enum Verdict: Sendable { case pass, replace, veto, fail }

    var verdict = Verdict.pass
    var will: Body?
    var did: Body?
    var didFails = false
  }

  struct DispatchPlan: Sendable {
    enum Mode: Hashable, Sendable { case async, serial, lane(Int), lanes, sync, main }
    enum Completion: Sendable { case none, plain(Body), result(Body) }

    var dispatcher: Int
    var mode: Mode
    /// The only store to run; nil for all.
    var target: Int?
    /// Earlier dispatches to wait for, if they have been made by then.
    var after: [Int] = []
    var isSequence = false
    var continuesOnFailure = false
    /// The places of its actions; several for a sequence.
    var actions: [Int] = []
    var completion = Completion.none
    /// Whether it runs in the task that makes it.
    var isSent = false
    /// Whether it is made in an exclusive section, and accepted once that has been left.
    var isMadeInSection = false
    /// Whether only blocks and roots are around it, so that `.sync` returns after its completion.
    var isOutsideNotifications = false
    var controls: [Control] = []
    /// Whether a group makes it.
    var isInGroup = false
    /// Whether the program gets a handle to wait for.
    var hasHandle: Bool { !isSent && !isInGroup }
    /// The calls of the effect that follows it.
    var effect: Body = 0

    var isDetached: Bool { controls.contains(.detached) }
    /// The lanes that it holds.
    var lanes: [Mode] {
      switch mode {
      case .async, .sync: []
      case .lanes: [.lane(0), .lane(1)]
      default: [mode]
      }
    }
  }

  /// A group of dispatches, each a step or the compensation of one.
  struct GroupPlan: Sendable {
    var dispatcher: Int
    var steps: [Int]
    /// By step.
    var undos: [Int: Int] = [:]
    /// How many run at once; nil for a sequence.
    var limit: Int?
    var continues = false
    var isSent = false
    var isCancelled = false
    var completion: Body = 0
    var controls: [Control] = []
  }

  struct EffectPlan: Sendable {
    var policy: EffectPolicy
    var runsRegardless: Bool
  }

  /// A limit that dispatches share.
  struct LimitPlan: Sendable {
    var bound: Int
    var overflow: DispatchLimit.Overflow
  }

  /// The controls of a dispatch; numbers are names, keys, and places of limits.
  enum Control: Hashable, Sendable {
    case timeLimit(milliseconds: Int)
    case name(Int), exclusive(Int), cancelsPrevious(Int), skippedIfInFlight(Int), limit(Int)
    case debounced(Int), throttled(Int), rate(Int), guarded, detached
    case isUrgent
    /// A store runs again that has failed; so often it fails again.
    case retry(attempts: Int, failures: Int)
    case idempotencyKey(Int)
    /// Once the store has so many commits.
    case when(store: Int, count: Int)
  }

  struct ActionPlan: Sendable {
    var dispatch: Int
    /// The answers of the stores that may respond.
    var answers: [Int: Answer] = [:]
  }

  /// A store's answer to an action.
  struct Answer: Sendable {
    enum Kind: Sendable {
      /// A change of the model; dispatches inside the exclusive section.
      case reduction
      /// A reduction that changes nothing.
      case noChange
      case application, block, async
      /// A thread commits so often and finishes the operation; then it runs the body.
      case callback(commits: Int, ending: CallbackEnd, then: Body)
    }
    enum CallbackEnd: Sendable { case finish, fail, drop, finishInside }

    var kind: Kind
    var body: Body
    /// Whether its operation depends on one in no queue, which another thread starts.
    var dependsOnForeign = false
    /// Actions whose operations it depends on, if those have been made by then.
    var dependsOn: [Int] = []
  }

  enum Statement: Hashable, Sendable {
    /// Makes a dispatch, and goes on; with `.sync`, once it has ended.
    case dispatch(Int)
    /// Makes a dispatch in the task that runs this.
    case send(Int)
    /// Makes a group, and goes on, or runs it in its task.
    case group(Int)
    /// Awaits a dispatch, if that has been made.
    case await(Int)
    case cancel(Int)
    case awaitGroup(Int), cancelGroup(Int)
    case cancelNamed(dispatcher: Int, Int)
    /// In a simulation, some time passes at once.
    case passTime
    /// A commit whose body dispatches inside the exclusive section.
    case commit(store: Int, Body?)
    /// A commit through the operation.
    case commitOwn(Body?)
    /// A task for which no code waits.
    ///
    /// A thread may cancel it at some time.
    case task(Body, isCancelled: Bool)
    /// Child tasks, for which this one waits.
    case children([Body])
    case yield
    case fail
    /// Releases the last reference to a store that the dispatcher holds weakly.
    case release(store: Int)
    case unregister(store: Int)
    case setWidth(dispatcher: Int, Int)
    /// Suspends the queue meanwhile.
    case suspended(dispatcher: Int, Body)
    case cancelObserver(Int)
    /// An operation of the program's own on the dispatcher's queue.
    case usersOperation(dispatcher: Int, Body)
    case close(dispatcher: Int), shutDown(dispatcher: Int)
    /// Drains it without awaiting that, or by awaiting it.
    case drain(dispatcher: Int, milliseconds: Int?), awaitDrain(dispatcher: Int)
    /// Follows a store from its present state on.
    case follow(store: Int, Follower)
  }

  enum Follower: Hashable, Sendable, CaseIterable { case inline, stream, newest }
}
