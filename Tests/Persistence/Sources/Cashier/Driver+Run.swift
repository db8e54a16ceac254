import Foundation
import Programs

// The processes: who is the owner, how it ends, and what happens to the server.
extension Driver {
  mutating func run(until end: End) throws {
    isEnding = false
    lines.removeFirst(max(0, lines.count - 1_000))
    if case .finish = end { killAll() }
    try startServices(for: end)
    if owner != nil { fill(end) }
    var killTime: ContinuousClock.Instant?
    switch end {
    case .early(let time): killTime = .now + time
    case .time(let time), .stop(let time, _): if owner != nil { killTime = .now + time }
    default: break
    }
    var (count, victim): (Int, ServiceProcess?) = (0, nil)
    var (copy, groupOfCopy, replacedAt): (Cluster.Copy?, Int, Int?) = (nil, 0, nil)
    while true {
      let patience = ContinuousClock.Instant.now + (late.isEmpty ? .seconds(60) : .milliseconds(2))
      let deadline = [patience, killTime, continueTime].compactMap { $0 }.min()!
      let (service, event) = ServiceProcess.event(of: services, until: deadline)
      switch event {
      case .end:
        services.removeAll { $0 === service }
        late.removeAll { $0.service === service }
        try checkEnd(of: service, service === victim || hasGoneBack)
        if owner === service { owner = nil }
        if service === victim || hasGoneBack { return try checkBooks() }
      case .timeout:
        if let time = continueTime, time <= .now {
          continueStopped()
        } else if let time = killTime, time <= .now {
          killTime = nil
          if case .stop(_, let holdsCommit) = end { return try stop(holdsCommit) }
          victim = kill(end)
        } else if late.isEmpty {
          let states = services.map { "\($0.state) \($0.isWaiting ? "waiting" : "")" }
          for service in services { service.send("describe") }
          while case (let service, .line(let line)) = ServiceProcess.event(
            of: services, until: .now + .seconds(1))
          {
            lines.append("\(services.firstIndex { $0 === service }!): \(line)")
          }
          throw Wrong("the service hangs: \(states)")
        }
        sendLate()
      case .line(let line):
        lines.append("\(services.firstIndex { $0 === service }!): \(line)")
        let hadOwner = owner != nil
        try handle(line, service, end)
        if line.hasPrefix("lost "), service === victim {
          // It was replaced before its end.
          (victim, isEnding) = (nil, false)
        }
        if !hadOwner, owner != nil {
          if case .time(let time) = end { killTime = .now + time }
          if case .stop(let time, _) = end { killTime = .now + time }
        }
        if case .settled = end, isSettled { return }
        if draws(1, in: 3) { sendLate() }
        if victim != nil || owner == nil || hasGoneBack { continue }
        count += 1
        try disturb()
        switch end {
        case .line(count): victim = kill(end)
        case .drain(let most) where count >= most && !isEnding:
          isEnding = true
          owner!.send("drain")
          victim = owner
        case .terminate(let most) where count >= most && !isEnding:
          isEnding = true
          owner!.signal(SIGTERM)
          victim = owner
        case .restart(let mode, let line):
          if count == line { try database.cluster!.restart(mode) }
          if count == line + 60 { victim = kill(end) }
        case .replace(let line, let isStandby, let isQuiet, let gap):
          let cluster = database.cluster!
          if count == line {
            copy =
              try isQuiet
              ? cluster.quietCopy(isStandby: isStandby) : cluster.copy(isStandby: isStandby)
            try kind == .synchronous ? cluster.attach(copy!) : cluster.detach(copy!)
          }
          if count == line { groupOfCopy = try database.lastGroup() }
          // With a gap something is lost; otherwise that is left to chance.
          var isDue = isQuiet || count >= line + gap
          if isDue, !isQuiet, gap >= 10 { isDue = try database.lastGroup() > groupOfCopy + 1 }
          if let made = copy, count >= line, isDue {
            try cluster.replace(by: made)
            (copy, groupOfCopy, replacedAt) = (nil, try database.lastGroup(), count)
          }
          // A process that begins after the loss can't see it, so this one has to write before it is killed.
          if let replacedAt, count >= replacedAt + 60, try database.lastGroup() > groupOfCopy {
            victim = kill(end)
          }
        case .finish where open.isEmpty && !isEnding:
          isEnding = true
          owner!.send("finish")
          victim = owner
        default: break
        }
      }
    }
  }

  private mutating func startServices(for end: End) throws {
    var isFinish = false
    if case .finish = end { isFinish = true }
    let most = isFinish ? 1 : Int.random(in: kind.processes, using: &random)
    // One that stands still makes no owner.
    while services.isEmpty || services.filter({ $0.state != .stopped }).count < most {
      // The first process starts the tick; some of the later ones leave it to `resumeWork`.
      services.append(
        try ServiceProcess(
          database.address, lease: kind.lease, declaresTick: lastTick == nil || draws(1, in: 2),
          isApart: kind == .apart))
    }
  }

  mutating func killAll() {
    for service in services {
      service.kill()
      _ = service.end()
    }
    (services, owner, gone, late) = ([], nil, nil, [])
  }

  private mutating func kill(_ end: End) -> ServiceProcess {
    var victim = owner
    if case .early = end { victim = services.randomElement(using: &random) }
    let service = victim ?? services[0]
    service.kill()
    noteGone(service, kind == .apart ? .apart : .killed)
    return service
  }

  private mutating func stop(_ holdsCommit: Bool) throws {
    let proxy = database.cluster!.proxy
    let isHeld = holdsCommit && proxy.holdCommit(within: 2)
    guard let owner else { return }
    // Later this would continue the owner before its lease is over.
    if continueTime != nil { continueStopped(releasing: false) }
    owner.signal(SIGSTOP)
    owner.state = .stopped
    noteGone(owner, .stopped)
    self.owner = nil
    // The commit arrives while the owner stands still, or after another one has taken over, or never.
    switch Int.random(in: 0..<3, using: &random) {
    case 0 where isHeld: proxy.release()
    case 1 where isHeld: proxy.cut()
    default: break
    }
    counts[.stops, default: 0] += 1
    if isHeld { counts[.stopsInCommit, default: 0] += 1 }
  }

  private mutating func continueStopped(releasing: Bool = true) {
    continueTime = nil
    if releasing { database.cluster?.proxy.release() }
    for service in services where service.state == .stopped {
      service.signal(SIGCONT)
      service.state = .continued
    }
  }

  private var isSettled: Bool {
    owner != nil && services.allSatisfy { $0.state == .running }
  }

  /// Disturbs the server or the connections now and then.
  private mutating func disturb() throws {
    guard let cluster = database.cluster else { return }
    switch kind {
    case .killed, .contested: if draws(1, in: 1_000) { try cluster.restart("immediate") }
    case .cut:
      if draws(1, in: 10) {
        cluster.proxy.arm(Proxy.Plan.allCases.filter { $0 != .hold }.randomElement(using: &random))
      }
      if draws(1, in: 60) { cluster.proxy.cut() }
      if draws(1, in: 300) { try cluster.restartPooler() }
    default: break
    }
  }

  mutating func noteGone(_ service: ServiceProcess, _ cause: Pauses.Cause) {
    guard service === owner else { return }
    let isAwaited = services.contains { $0 !== service && $0.isWaiting && $0.state == .running }
    gone = isAwaited ? (cause, Date()) : nil
  }

  /// Notes that a process has become the owner.
  mutating func began(_ service: ServiceProcess, _ end: End) throws {
    let now = Date()
    // One that has closed the database says so a little later.
    if let owner, owner !== service, owner.state == .running, !isEnding {
      // Its lease is over, as on a machine that others use.
      owner.state = .continued
      counts[.unforeseen, default: 0] += 1
    }
    (owner, service.isWaiting) = (service, false)
    service.terms += 1
    if service.terms == 2 { counts[.returned, default: 0] += 1 }
    if services.contains(where: { $0.state == .stopped }) {
      continueTime = .now + .milliseconds(Int.random(in: 0...300, using: &random))
    }
    if database.cluster != nil {
      if !isRecorded { try database.record() }
      isRecorded = true
      if let (cause, time) = gone, let takeOver = try database.takeOver() {
        counts[.takeOvers, default: 0] += 1
        pauses.add(cause, now.timeIntervalSince(time), loading: now.timeIntervalSince(takeOver))
        if now.timeIntervalSince(time) > 10 { report(cause, since: time) }
      }
    }
    gone = nil
    fill(end)
  }

  /// Prints what has happened before a take-over that came late.
  private func report(_ cause: Pauses.Cause, since time: Date) {
    let recent = lines.suffix(60).joined(separator: "\n  ")
    note("A take-over, \(cause), \(kind), at \(time), came at \(Date()):\n  \(recent)")
  }

  /// Notes that a process has found out that it is not the owner any longer.
  mutating func lost(_ code: String, _ group: Int, _ service: ServiceProcess, _ line: String) throws
  {
    service.isLosing = false
    switch (code, service.state) {
    case ("notOwner", .continued), ("notOwner", .running):
      guard kind.processes.upperBound > 1 else { throw Wrong("there is no other process: \(line)") }
      service.state = .running
      if owner === service { owner = nil }
      counts[.losses, default: 0] += 1
    case ("journalWentBack", .running) where kind == .replaced:
      let saved = try database.lastGroup()
      guard saved < group else { throw Wrong("group \(saved) is the last: \(line)") }
      hasGoneBack = true
      counts[.wentBack, default: 0] += 1
    default: throw Wrong("a service that is \(service.state) says: \(line)")
    }
  }

  private mutating func checkEnd(of service: ServiceProcess, _ isExpected: Bool) throws {
    let (signal, code) = service.end()
    let isKilled = service.state == .killed
    guard isExpected, isKilled ? signal == SIGKILL : code == 0 && signal == nil else {
      throw Wrong("a service has ended by itself")
    }
    if isKilled, kind == .killed, draws(1, in: 4) { try database.cluster?.restart("immediate") }
  }

  private mutating func checkBooks() throws {
    if hasGoneBack { return }
    try checkTicks()
    if isRecorded {
      let (count, wrong) = try database.recorded()
      if !wrong.isEmpty { throw Wrong("groups that do not follow the one before: \(wrong)") }
      counts[.groups] = count
    }
  }
}
