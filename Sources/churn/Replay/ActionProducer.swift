import Dispatch
import DispatchStore

/// The actions that are dispatched for a batch of events.
struct ActionBatch: Sendable {
  /// The number of its first event in the history.
  let first: Int
  let actions: [ReplayedAction]

  /// - Parameter skipped: The number of events that an earlier run has replayed.
  init(_ events: [Event], first: Int, skipped: Int) {
    self.first = first
    actions = zip((skipped + first + 1)..., events).map(ReplayedAction.init)
  }
}

/// The action that is dispatched for an event.
enum ReplayedAction: Sendable {
  case changed(Changed)
  case committed(Committed)

  /// - Parameter number: The event's number in the history, counted from 1.
  init(_ number: Int, _ event: Event) {
    switch event {
    case .changed(let change): self = .changed(Changed(change, number: number))
    case .committed(let commit): self = .committed(Committed(commit, number: number))
    }
  }
}

/// A producer that dispatches the actions of batches until it is to stop, and records how each ends.
struct ActionProducer: Sendable {
  let mode: Mode
  let dispatcher: Dispatcher
  let outcome = ReplayOutcome()
  let stop: Stop
  /// The limit on the actions in flight: a producer waits for a unit of it.
  let limit: DispatchLimit
  /// Entered for each action whose completion has not run.
  let unended = DispatchGroup()
  private let options: DispatchOptions

  init(mode: Mode, dispatcher: Dispatcher, inFlight: Int, until stop: Stop) {
    (self.mode, self.dispatcher, self.stop) = (mode, dispatcher, stop)
    limit = DispatchLimit(inFlight, overflow: .wait, name: "--in-flight")
    options = .limited(by: limit)
  }

  /// Dispatches the actions at these indices, in order.
  func dispatch(_ indices: [Int], of batch: ActionBatch) {
    var count = 0
    for index in indices {
      if stop.isRequested { break }
      switch batch.actions[index] {
      case .changed(let action):
        take(action, mode.scheduling(of: action.change), at: index, batch.first)
      case .committed(let action):
        take(action, mode.scheduling(of: action.commit), at: index, batch.first)
      }
      count += 1
    }
    outcome.add(dispatched: count)
  }

  /// Sends the actions at these indices in a task, each once the previous one has ended.
  func send(_ indices: [Int], of batch: ActionBatch) async {
    var count = 0
    for index in indices {
      if stop.isRequested { break }
      switch batch.actions[index] {
      case .changed(let action):
        await send(action, mode.scheduling(of: action.change), at: index, batch.first)
      case .committed(let action):
        await send(action, mode.scheduling(of: action.commit), at: index, batch.first)
      }
      count += 1
    }
    outcome.add(dispatched: count)
  }

  private func send<Action: ActionType>(
    _ action: Action, _ mode: Dispatcher.Mode, at index: Int, _ first: Int
  ) async {
    // A task never replays with `.sync`.
    let mode = Dispatcher.SendMode(mode)!
    let began = began(at: index)
    let sent = await dispatcher.send(action, mode: mode, options: options)
    outcome.note(sent.result, began, at: first + index)
  }

  private func take<Action: ActionType>(
    _ action: Action, _ scheduling: Dispatcher.Mode, at index: Int, _ first: Int
  ) {
    if mode == .sync {
      run(action, at: index, first)
    } else {
      enqueue(action, scheduling, at: index, first)
    }
  }

  /// The action has ended when `dispatch` returns, so this needs neither a limit nor a completion.
  private func run<Action: ActionType>(_ action: Action, at index: Int, _ first: Int) {
    let began = began(at: index)
    let handle = dispatcher.dispatch(action: action, mode: .sync)
    if let began { outcome.record(Stopwatch.now - began) }
    if let error = handle.resultIfEnded?.error { outcome.fail(at: first + index, error) }
  }

  // The completion has the outcome unowned, because the threads would contend for its reference count; the replay keeps
  // it alive until the dispatcher is drained.
  private func enqueue<Action: ActionType>(
    _ action: Action, _ mode: Dispatcher.Mode, at index: Int, _ first: Int
  ) {
    let number = first + index
    let began = began(at: index)
    unended.enter()
    dispatcher.dispatch(action, mode: mode, options: options) {
      [unowned(unsafe) outcome, unended] result in
      outcome.note(result, began, at: number)
      unended.leave()
    }
  }

  /// The time at which an action begins; nil if its latency is not measured.
  private func began(at index: Int) -> UInt64? {
    index.isMultiple(of: PlainLoop.sampling) ? Stopwatch.now : nil
  }
}

extension ReplayOutcome {
  fileprivate func note(_ result: DispatchResult, _ began: UInt64?, at number: Int) {
    if let began { record(Stopwatch.now - began) }
    if let error = result.error { fail(at: number, error) }
  }
}
