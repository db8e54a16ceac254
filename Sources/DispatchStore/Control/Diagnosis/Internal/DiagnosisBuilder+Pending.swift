extension DiagnosisBuilder {
  /// Links the calls that wait for units of limits.
  ///
  /// The oldest call of a limit is linked with the dispatches that have its units, and later ones with the oldest.
  mutating func describePending() {
    var oldest: [ObjectIdentifier: Int] = [:]
    for wait in pending.sorted(by: { $0.began < $1.began }) {
      let place = map.insert(
        WaitMap.Node(
          identity: ObjectIdentifier(wait), id: nil, parent: wait.caller?.id,
          callSite: wait.callSite, trace: nil, began: wait.began, moved: wait.began,
          deadline: wait.deadline?.time, isWaiting: true))
      if let caller = wait.caller, !caller.isOver {
        map.link(meet(caller), to: place, .awaits, "waits for")
      }
      describe(wait, place, &oldest)
    }
  }

  private mutating func describe(
    _ wait: WaitForLimit, _ place: Int, _ oldest: inout [ObjectIdentifier: Int]
  ) {
    let (text, limit) = (wait.text, wait.limit)
    if let first = oldest[ObjectIdentifier(limit)] {
      map.link(place, to: first, .holdsBack, "waits behind")
      return map.add({ "waits for \(text), behind \($0(first))" }, to: place)
    }
    oldest[ObjectIdentifier(limit)] = place
    let targets = limit.holders.filter { !$0.isOver }.map { meet($0) }
    for target in targets { map.link(place, to: target, .holdsBack, "is held back by") }
    map.add(
      { name in
        let holders = targets.map(name).joined(separator: ", ")
        return "waits for \(text)" + (holders.isEmpty ? "" : ": \(holders)")
      }, to: place)
  }
}
