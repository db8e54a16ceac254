import DispatchStore
import Foundation
import Programs
import Synchronization

/// The operations of a run: tasks and threads, each with a lane of its own or with none.
final class Work: Sendable {
  let bank: Bank
  private let journal: Journal
  private let seed: UInt64
  private let firstID: Int
  private let most: Int
  private let nextID = Mutex(0)
  private let isEnding = Mutex(false)
  /// The first error that was no refusal.
  private let failure = Mutex<String?>(nil)

  /// - Parameters:
  ///   - run: The number of the run, which makes its ids.
  ///   - most: The number of operations after which it ends.
  init(_ bank: Bank, _ journal: Journal, run: Int, seed: UInt64, most: Int) {
    (self.bank, self.journal, self.seed, self.most) = (bank, journal, seed, most)
    firstID = run * 1_000_000 + 1
  }

  func end() { isEnding.withLock { $0 = true } }

  /// Runs until `end` or an error; returns the error.
  func run(_ workers: Int) async -> String? {
    await withTaskGroup(of: Void.self) { group in
      for worker in 0..<workers {
        switch worker % 10 {
        case 8...: group.addTask { await self.onThread(worker) }
        case 4...: group.addTask { await self.pipeline(worker) }
        default: group.addTask { await self.sendAll(worker) }
        }
      }
    }
    return failure.withLock { $0 }
  }

  private func draw(_ random: inout SeededGenerator, lane: Int) -> Operation? {
    if isEnding.withLock({ $0 }) || failure.withLock({ $0 != nil }) { return nil }
    let number = nextID.withLock { next in
      next += 1
      return next
    }
    if number > most { return nil }
    let stores = ["giro", "giro", "giro", "savings", "savings", "ledger", "ledger", "till"]
    func below(_ bound: Int) -> Int { .random(in: 0..<bound, using: &random) }
    let kind: Operation.Kind =
      switch below(100) {
      case ..<50: .post
      case ..<75: .transfer
      case ..<83: .instalments
      case ..<87: .close
      case ..<89: .reorganise
      case ..<91: .all
      case ..<95: .everywhere
      case ..<97: .nowhere
      default: .refuse
      }
    let base = lane < 0 ? 8 : lane
    return Operation(
      id: firstID + number, kind: kind, store: stores[below(8)], key: base * 8 + below(8),
      other: base * 8 + below(8), amount: 1 + below(100), lane: lane)
  }

  // MARK: Ways to dispatch

  /// Sends one action after the other, sometimes a sequence, or one that is saved later.
  private func sendAll(_ worker: Int) async {
    var random = SeededGenerator(seed: seed &+ UInt64(worker))
    let mode = Dispatcher.SendMode.serial(lane: worker)
    while let operation = draw(&random, lane: worker) {
      journal.begun(operation)
      if operation.kind == .post, Int.random(in: 0..<4, using: &random) == 0 {
        let options = DispatchOptions.durability(.memory)
        let result = await bank.dispatcher.send(
          any: operation.action, to: operation.target, mode: mode, options: options)
        do {
          try await bank.persistence.flush()
          note(operation, result)
        } catch {
          fail("\(error)")
        }
      } else if operation.kind == .transfer, let next = draw(&random, lane: worker) {
        journal.begun(next)
        await sendSequence([operation, next], mode)
      } else {
        note(
          operation,
          await bank.dispatcher.send(any: operation.action, to: operation.target, mode: mode))
      }
    }
  }

  private func sendSequence(_ operations: [Operation], _ mode: Dispatcher.SendMode) async {
    let result = await bank.dispatcher.send(
      ActionGroup {
        for operation in operations {
          ActionStep(operation.action, to: operation.target, mode: mode)
        }
      })
    for (operation, step) in zip(operations, result.steps) {
      if let result = step.result { note(operation, result) }
    }
  }

  /// Dispatches several actions to its lane before it awaits the first.
  private func pipeline(_ worker: Int) async {
    var random = SeededGenerator(seed: seed &+ UInt64(worker))
    var pending: [(Operation, DispatchHandle)] = []
    while let operation = draw(&random, lane: worker) {
      journal.begun(operation)
      let handle = bank.dispatcher.dispatch(
        any: operation.action, to: operation.target, mode: .serial(lane: worker))
      pending.append((operation, handle))
      if pending.count < Int.random(in: 1...8, using: &random) { continue }
      for (operation, handle) in pending { note(operation, await handle.result) }
      pending = []
    }
    for (operation, handle) in pending { note(operation, await handle.result) }
  }

  /// Dispatches with `.sync` on a thread.
  private func onThread(_ worker: Int) async {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        var random = SeededGenerator(seed: self.seed &+ UInt64(worker))
        while let operation = self.draw(&random, lane: -1) {
          self.journal.begun(operation)
          let handle = self.bank.dispatcher.dispatch(
            any: operation.action, to: operation.target, mode: .sync)
          self.note(operation, handle.resultIfEnded!)
        }
        continuation.resume()
      }
    }
  }

  // MARK: Results

  private func note(_ operation: Operation, _ result: DispatchResult) {
    if let error = result.dispatchError {
      // One commit, of which the library knows that it is not saved.
      if (error.cause as? PersistenceError)?.isOutcomeKnown == true,
        operation.amounts.count < 3, operation.kind != .all
      {
        journal.refused(operation.id)
      }
      return fail("\(error.code): \(error.message)")
    }
    if operation.isRefused {
      precondition(result.error is Refused, "\(result)")
      return journal.refused(operation.id)
    }
    let replies = result.replies(to: Post.self)
    for (store, version) in replies { journal.acknowledged(operation.id, store, version) }
    precondition(replies.count == (operation.isForAll ? 4 : 1), "\(operation): \(result)")
  }

  private func fail(_ error: String) { failure.withLock { if $0 == nil { $0 = error } } }
}

extension Operation {
  fileprivate var target: String? { isForAll ? nil : store }

  fileprivate var action: any ActionType {
    switch kind {
    case .post: Post(id: id, key: key, amount: amount)
    case .all: PostAll(id: id, key: key, amount: amount)
    case .everywhere, .nowhere:
      PostEverywhere(id: id, key: key, amount: amount, isRefused: kind == .nowhere)
    case .transfer: Transfer(id: id, from: key, to: other, amount: amount)
    case .instalments: Instalments(id: id, key: key, amount: amount)
    case .close: CloseAccount(id: id, key: key, heir: other)
    case .reorganise: Reorganise(id: id, key: key, heir: other)
    case .refuse: Refuse(id: id)
    }
  }
}

extension Dispatcher {
  fileprivate func send(
    any action: any ActionType, to store: String?, mode: SendMode, options: DispatchOptions = []
  ) async -> DispatchResult {
    func sent<Action: ActionType>(_ action: Action) async -> DispatchResult {
      await send(action, to: store, mode: mode, options: options).result
    }
    return await sent(action)
  }

  fileprivate func dispatch(any action: any ActionType, to store: String?, mode: Mode)
    -> DispatchHandle
  {
    func dispatched<Action: ActionType>(_ action: Action) -> DispatchHandle {
      dispatch(action, to: store, mode: mode)
    }
    return dispatched(action)
  }
}
