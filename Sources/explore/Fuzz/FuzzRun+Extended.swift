import DispatchStore

/// A follower of a store, with the versions that it has got: first that of the state at its beginning.
struct FuzzFollower: Sendable {
  let store: Int
  let kind: FuzzProgram.Follower
  let versions: Shared<[Int]>
  let cancel: @Sendable () -> Void
}

// Cancelled tasks, ends of dispatchers, and followers.
extension FuzzRun {
  /// Starts a task once; what runs again starts none, whose cancellation would not be that of the first one.
  func startCancelledTask(_ body: FuzzProgram.Body) {
    guard isFirst(-1 - body) else { return }
    let task = startTask { try? await self.runAsync(body) }
    startThread {
      task.cancel()
      self.log.note(.taskCancelled, body)
    }
  }

  func close(_ place: Int, by close: (Dispatcher) -> Void) {
    guard let dispatcher = dispatcher(place) else { return }
    close(dispatcher)
    log.note(.closed, place)
  }

  func drain(_ place: Int, for milliseconds: Int?) {
    beginActivity()
    close(place) { dispatcher in
      dispatcher.drain(timeout: milliseconds.map { .milliseconds($0) }) { report in
        self.note(report, of: place)
        self.endActivity()
      }
    }
  }

  func awaitDrain(_ place: Int) async {
    guard let dispatcher = dispatcher(place) else { return }
    let end = beginWait("a task drains d\(place)")
    let report = await dispatcher.drain()
    end()
    log.note(.closed, place)
    note(report, of: place)
  }

  private func note(_ report: DrainReport, of place: Int) {
    guard report.isComplete else { return }
    log.note(.drained, place)
    for (number, handle) in present.now.handles.sorted(by: { $0.key < $1.key }) {
      let plan = program.dispatches[number]
      if plan.dispatcher == place, !plan.isMadeInSection, !(handle.hasEnded && handle.isOver) {
        log.note(.unended, number)
      }
    }
  }

  func follow(_ place: Int, _ kind: FuzzProgram.Follower) {
    guard let store = store(place) else { return }
    let versions = Shared<[Int]>([])
    let take: @Sendable (Change<Int, FuzzAction>) -> Void = { [log] change in
      if Int(change.version) != change.value {
        log.fail("a follower of s\(place) got \(change.value) with version \(change.version)")
      }
      versions.append(Int(change.version))
    }
    let cancel: @Sendable () -> Void
    switch kind {
    case .inline:
      let token = store.observe(.part(\.count), initial: true, take)
      cancel = { token.cancel() }
    case .stream, .newest:
      let stream = store.stream(
        .part(\.count), initial: true, buffering: kind == .newest ? .newest(1) : .unbounded)
      let task = host.startTask { for await change in stream { take(change) } }
      cancel = { task.cancel() }
    }
    let follower = FuzzFollower(store: place, kind: kind, versions: versions, cancel: cancel)
    present.with { $0.followers.append(follower) }
  }
}
