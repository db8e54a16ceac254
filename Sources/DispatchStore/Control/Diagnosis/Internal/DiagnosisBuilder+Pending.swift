extension DiagnosisBuilder {
  /// Links the waits that can describe themselves.
  ///
  /// The oldest of a queue is linked with the dispatches that it waits for, and later ones with the oldest.
  mutating func describePending() {
    for wait in pending { insert(wait) }
    var oldest: [ObjectIdentifier: Int] = [:]
    for wait in pending.sorted(by: { since($0) < since($1) }) { describe(wait, &oldest) }
  }

  private func since(_ wait: any WaitDescribing) -> Int64 {
    switch wait.subject {
    case .dispatch(let dispatch):
      map.place(of: ObjectIdentifier(dispatch)).flatMap { map.nodes[$0].began } ?? 0
    case .call(let call): call.began
    }
  }

  private mutating func insert(_ wait: any WaitDescribing) {
    switch wait.subject {
    case .dispatch(let dispatch):
      let place = meet(dispatch)
      map.update(place) { $0.isHeldBack = true }
    case .call(let call):
      let place = map.insert(
        WaitMap.Node(
          identity: ObjectIdentifier(wait), id: nil, parent: call.caller?.id,
          callSite: call.callSite, trace: nil, began: call.began, moved: call.began,
          isWaiting: true))
      if let caller = call.caller, !caller.isOver {
        map.link(meet(caller), to: place, .awaits, "waits for")
      }
    }
  }

  private mutating func describe(
    _ wait: any WaitDescribing, _ oldest: inout [ObjectIdentifier: Int]
  ) {
    guard let place = map.place(of: Self.identity(of: wait)) else { return }
    let description = wait.describeWait()
    if let queue = description.queue {
      if let first = oldest[queue] {
        map.link(place, to: first, .holdsBack, "waits behind")
        return map.add({ "waits for \(description.text), behind \($0(first))" }, to: place)
      }
      oldest[queue] = place
    }
    let targets = description.awaited().filter { !$0.isOver }.map { meet($0) }
    for target in targets { map.link(place, to: target, .holdsBack, "is held back by") }
    map.add(
      { name in
        let holders = targets.map(name).joined(separator: ", ")
        return "waits for \(description.text)" + (holders.isEmpty ? "" : ": \(holders)")
      }, to: place)
  }
}
