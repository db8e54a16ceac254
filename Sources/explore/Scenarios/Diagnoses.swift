import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// Diagnoses taken while dispatches run, wait, are cancelled and end; and a watchdog, whose timer comes while they
  /// do.
  static let diagnosis = Scenario(
    name: "diagnosis",
    summary: "a diagnosis shows what is in flight, and a watchdog what does not move"
  ) { dispatcher, simulation in
    let reports = Shared([Diagnosis]())
    let limit = Duration.seconds(600)
    dispatcher.watchdog(after: limit) { report in reports.append(report) }
    let store = dispatcher.makeJournal("journal") { _ in }
    dispatcher.makeJobs()
    let clock = simulation.clock
    let modes: [Dispatcher.Mode] = [.async, .serial, .serial(lane: "a"), .mainThread]
    let ended = Shared(Set<DispatchID>())
    let limited = DispatchLimit(1, overflow: .wait)
    let failure = Shared(String?.none)

    @Sendable func look() {
      let before = ended.now
      let diagnosis = dispatcher.diagnosis()
      for edge in diagnosis.edges {
        // A dispatch that is no longer in the table may be about to release its lane.
        let ends = [edge.from, edge.to].map(diagnosis.entry).filter { $0.age != nil }
        let haveEnded = ends.contains { $0.id.map(before.contains) == true }
        if edge.from == edge.to || haveEnded {
          failure.with { $0 = "\(edge) is of what has ended:\n\(diagnosis)" }
        }
      }
      if !diagnosis.cycles.isEmpty { failure.with { $0 = "A ring where all ends:\n\(diagnosis)" } }
      _ = diagnosis.mermaid
    }

    await withTaskGroup { group in
      for number in 1...4 {
        group.addTask { look() }
        group.addTask {
          let mode = modes[number % 4]
          let first = dispatcher.dispatch(
            storeIdentifier: "journal", action: Entry.slow(number), mode: mode)
          let second = dispatcher.dispatch(
            storeIdentifier: "journal", action: Entry.late(number + 10),
            mode: modes[(number + 1) % 4], options: .after(first))
          let third = dispatcher.dispatch(
            action: Job.suspends { await second.ended() }, mode: .serial(lane: "b"))
          let whole = dispatcher.dispatch(
            storeIdentifier: "journal",
            actions: [Entry.work(number + 20), Entry.slow(number + 30)], mode: mode)
          let cancelled = number.isMultiple(of: 2) ? second : whole
          simulation.startThread { cancelled.cancel() }
          await store.send(Entry.slow(number + 40), mode: .serial, options: .limited(by: limited))
          for handle in [first, second, third, whole] {
            await handle.ended()
            ended.with { _ = $0.insert(handle.dispatchID) }
            look()
          }
        }
      }
      // The dispatch begins at about the time at which the watchdog finds nothing in flight, and no other one follows.
      group.addTask {
        try? await clock.sleep(for: limit)
        await dispatcher.dispatch(
          storeIdentifier: "journal", action: Entry.hold(50), mode: .serial(lane: "c")
        ).ended()
      }
    }
    if let failure = failure.now { throw Broken(description: failure) }
    // An hour: after one limit, after two, and after four.
    try check((1...4).contains(reports.now.count), "\(reports.now.count) reports")
    for report in reports.now {
      try check(report.edges.isEmpty && report.entries.count == 1, "\(report)")
    }
    try check(dispatcher.diagnosis().entries.isEmpty, "\(dispatcher.diagnosis())")
  }
}
