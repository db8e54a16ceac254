import DispatchStore
import Foundation

/// The operation for whose action and store code runs.
struct FuzzOwner: Sendable {
  let action: Int
  let store: FuzzStore
  let place: Int
  /// Whether a statement fails it: not in its last attempts.
  var mayFail = true
}

// Runs lists of statements, on threads and in tasks.
extension FuzzRun {
  func run(_ body: FuzzProgram.Body, for owner: FuzzOwner? = nil) throws {
    for statement in program.bodies[body] { try run(statement, for: owner) }
  }

  func runAsync(_ body: FuzzProgram.Body, for owner: FuzzOwner? = nil) async throws {
    for statement in program.bodies[body] {
      switch statement {
      case .await(let number): await awaitResult(number)
      case .send(let number): await send(number)
      case .group(let place) where program.groups[place].isSent: await sendGroup(place)
      case .children(let bodies):
        await concurrently(bodies) { try? await self.runAsync($0, for: owner) }
      case .yield: await Task.yield()
      case .awaitGroup(let place): await awaitGroup(place)
      case .awaitDrain(let place): await awaitDrain(place)
      default: try run(statement, for: owner)
      }
    }
  }

  private func awaitResult(_ number: Int) async {
    guard let handle = handleToWaitFor(number) else { return }
    let end = beginWait("a task awaits #\(number)")
    let result = await handle.result
    end()
    if result.isRefused, !handle.hasBeenRefused {
      noteRefusal("await #\(number): \(result.error!)")
    } else {
      log.note(.awaited, number)
    }
  }

  private func run(_ statement: FuzzProgram.Statement, for owner: FuzzOwner?) throws {
    switch statement {
    case .dispatch(let number): dispatch(number)
    case .group(let place): dispatchGroup(place)
    case .cancel(let number):
      guard let handle = handle(number) else { return }
      log.note(.cancelled, number)
      handle.cancel()
      log.note(.cancelReturned, number)
    case .cancelGroup(let place): cancelGroup(place)
    case .close(let place): close(place) { $0.close() }
    case .shutDown(let place):
      close(place) { $0.shutDown() }
      log.note(.shutDown, place)
    case .drain(let place, let milliseconds): drain(place, for: milliseconds)
    case .follow(let store, let kind): follow(store, kind)
    case .cancelNamed(let place, let name): dispatcher(place)?.cancel(named: name)
    case .passTime: host.passTime()
    case .commit(let place, let section):
      if let store = store(place) { commit(store, place, section) }
    case .commitOwn(let section):
      if let owner { commit(owner.store, owner.place, section, for: owner.action) }
    case .task(let body, isCancelled: true): startCancelledTask(body)
    case .task(let body, _):
      startTask { try? await self.runAsync(body) }
    case .fail: if owner?.mayFail != false { throw FuzzError() }
    case .release(let place):
      let store = present.with { present in
        defer { present.stores[place] = nil }
        return present.stores[place]
      }
      withExtendedLifetime(store) {}
    case .unregister(let place):
      dispatcher(program.stores[place].dispatcher)?.unregister(storeIdentifier: "s\(place)")
    case .setWidth(let place, let width):
      dispatcher(place)?.queue.maxConcurrentOperationCount = width
    case .suspended(let place, let body):
      let queue = dispatcher(place)?.queue
      queue?.isSuspended = true
      try? run(body)
      queue?.isSuspended = false
    case .cancelObserver(let place): cancelObserver(place)
    case .usersOperation(let place, let body):
      guard let queue = dispatcher(place)?.queue else { return }
      beginActivity()
      host.add(to: queue) {
        try? self.run(body)
        self.endActivity()
      }
    case .await, .send, .children, .yield, .awaitGroup, .awaitDrain: break
    }
  }

  @discardableResult
  func startTask(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    beginActivity()
    return host.startTask {
      await body()
      self.endActivity()
    }
  }

  /// Runs a closure on another thread.
  func startThread(_ body: @escaping @Sendable () -> Void) {
    beginActivity()
    host.startThread {
      body()
      self.endActivity()
    }
  }

  private func cancelObserver(_ place: Int) {
    present.with { $0.cancelledObservers.insert(place) }
    present.with { $0.tokens.indices.contains(place) ? $0.tokens[place] : nil }?.cancel()
  }

  /// Commits, with dispatches inside the exclusive section.
  func commit(
    _ store: FuzzStore, _ place: Int, _ section: FuzzProgram.Body?, for action: Int = -1
  ) {
    store.updateModel { model in
      model.count += 1
      log.note(.committed, action, store: place, version: model.count)
      if let section { try? run(section) }
    }
    noteReturned(section)
  }

  /// Dispatches of an exclusive section are accepted, and so in line, once that has been left.
  func noteReturned(_ section: FuzzProgram.Body?) {
    guard let section else { return }
    for case .dispatch(let number) in program.bodies[section] {
      log.note(.returned, number)
      present.with { _ = $0.accepted.insert(number) }
    }
  }
}
