import Foundation
import PostgreSQLServer

/// Stands between the service and the server: cuts connections, holds a commit back, and leads to another server.
final class Proxy: @unchecked Sendable {
  // because its condition guards everything that changes

  /// What happens to the next commit.
  enum Plan: String, CaseIterable {
    /// The connection is cut, and the server never sees the commit.
    case cutBefore
    /// The commit is sent on, and the connection is cut at once: nobody knows whether the server has read it.
    case cutBehind
    /// The connection is cut when the reply comes.
    case cutAtReply
    /// The service's end is cut, and the server gets the commit later.
    case late
    /// The same for all statements that were sent together with the commit.
    case lateGroup
    /// The commit is held back.
    case hold
  }

  let port: Int
  private let condition = NSCondition()
  private var target: Int
  private var plan: Plan?
  private var links: [ObjectIdentifier: Link] = [:]
  private var isFrozen = false
  private var held: Set<ObjectIdentifier> = []
  private var cuts: [Plan: Int] = [:]
  /// The cuts that did not wait for a commit.
  private var otherCuts = 0

  /// The two sockets of a connection.
  private final class Link: @unchecked Sendable {
    let client: Int32, server: Int32
    /// Whether the connection is cut as soon as the server answers.
    var endsAtReply = false
    init(_ client: Int32, _ server: Int32) { (self.client, self.server) = (client, server) }
    deinit {
      close(client)
      close(server)
    }
    func cut() {
      shutdown(client, Int32(SHUT_RDWR))
      shutdown(server, Int32(SHUT_RDWR))
    }
  }

  init(to target: Int) {
    self.target = target
    let (listener, port) = boundSocket()
    self.port = port
    listen(listener, 64)
    Thread.detachNewThread {
      while true {
        let client = accept(listener, nil, nil)
        _ = fcntl(client, F_SETFD, FD_CLOEXEC)
        if client >= 0 { self.connect(client) }
      }
    }
  }

  private func locked<Value>(_ body: () -> Value) -> Value {
    condition.lock()
    defer { condition.unlock() }
    return body()
  }

  private func connect(_ client: Int32) {
    let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    for descriptor in [client, server] {
      var isOn = Int32(1)
      setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, 4)
    }
    var address = localAddress(locked { target })
    let code = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Foundation.connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    let link = Link(client, server)
    if code != 0 { return }
    locked { links[ObjectIdentifier(link)] = link }
    Thread.detachNewThread { self.forward(link) }
    Thread.detachNewThread { self.answer(link) }
  }

  // MARK: The two directions

  /// The message that asks for a commit: Parse, with its length, no name, the text, and no types.
  private static let commit = Data([0x50, 0, 0, 0, 14, 0] + Array("COMMIT".utf8) + [0, 0, 0])

  private func forward(_ link: Link) {
    while let data = read(link.client) {
      let commit = data.firstRange(of: Self.commit)?.lowerBound
      let plan = locked { () -> Plan? in
        while isFrozen { condition.wait() }
        guard commit != nil, let plan = self.plan else { return nil }
        self.plan = nil
        cuts[plan, default: 0] += 1
        link.endsAtReply = plan == .cutAtReply
        return plan
      }
      guard let plan, let commit else {
        write(data, link.server)
        continue
      }
      let start = plan == .lateGroup ? data.startIndex : commit
      if plan != .cutAtReply { write(data[..<start], link.server) }
      switch plan {
      case .cutBefore: link.cut()
      case .cutBehind:
        write(data[start...], link.server)
        link.cut()
      case .cutAtReply: write(data, link.server)
      case .late, .lateGroup:
        shutdown(link.client, Int32(SHUT_RDWR))
        usleep(UInt32.random(in: 0...200_000))
        write(data[start...], link.server)
      case .hold:
        locked {
          held.insert(ObjectIdentifier(link))
          condition.broadcast()
          while held.contains(ObjectIdentifier(link)) { condition.wait() }
        }
        write(data[start...], link.server)
      }
    }
    shutdown(link.server, Int32(SHUT_WR))
  }

  private func answer(_ link: Link) {
    while let data = read(link.server) {
      if locked({ link.endsAtReply }) { break }
      write(data, link.client)
    }
    link.cut()
    locked { _ = links.removeValue(forKey: ObjectIdentifier(link)) }
  }

  private func read(_ descriptor: Int32) -> Data? {
    var bytes = [UInt8](repeating: 0, count: 1 << 18)
    let count = recv(descriptor, &bytes, bytes.count, 0)
    return count > 0 ? Data(bytes[..<count]) : nil
  }

  private func write(_ data: Data, _ descriptor: Int32) {
    var rest = data
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count <= 0 { return }
      rest = rest.dropFirst(count)
    }
  }

  /// The numbers of cuts.
  var summary: String {
    locked {
      let commits = Plan.allCases.map { "\($0) \(cuts[$0] ?? 0)" }.joined(separator: ", ")
      return "commits: \(commits); other cuts: \(otherCuts)"
    }
  }

  // MARK: Faults

  func arm(_ plan: Plan?) { locked { self.plan = plan } }

  /// Cuts all connections.
  func cut() {
    locked {
      otherCuts += 1
      for link in links.values { link.cut() }
    }
  }

  /// Holds the next commit back; returns false if none comes within a time.
  func holdCommit(within seconds: Double) -> Bool {
    arm(.hold)
    return locked {
      let end = Date(timeIntervalSinceNow: seconds)
      while plan != nil, condition.wait(until: end) {}
      defer { plan = nil }
      return plan == nil
    }
  }

  /// Sends the commits on that were held back.
  func release() {
    locked {
      held = []
      condition.broadcast()
    }
  }

  /// Sends nothing to the server until connections lead to another one.
  func freeze() { locked { isFrozen = true } }

  /// Cuts all connections, and leads further ones to another server.
  func lead(to port: Int) {
    locked {
      target = port
      for link in links.values { link.cut() }
      (isFrozen, held) = (false, [])
      condition.broadcast()
    }
  }
}
