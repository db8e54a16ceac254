#if PostgreSQL
  import Foundation

  /// The process that owns a partition.
  struct PostgreSQLHolder {
    let process: Int32
    /// When the process began, in ticks since the machine's start: a later process may get the same number.
    let start: String
    /// The running machine and its numbering of processes; empty if that is not known.
    let machine: String
    let host: String
    /// Tells the openings of a process apart.
    let opening: String

    static let this = PostgreSQLHolder(
      process: getpid(), start: Self.start(of: getpid()) ?? "-", machine: Self.machine,
      host: ProcessInfo.processInfo.hostName, opening: "")

    private init(process: Int32, start: String, machine: String, host: String, opening: String) {
      (self.process, self.start, self.machine) = (process, start, machine)
      (self.host, self.opening) = (host, opening)
    }

    /// This process, in an opening that no other one can be taken for.
    ///
    /// A database that went back gives an epoch a second time.
    static var inNewOpening: PostgreSQLHolder {
      PostgreSQLHolder(
        process: this.process, start: this.start, machine: this.machine, host: this.host,
        opening: String(UInt64.random(in: 0...UInt64.max), radix: 36))
    }

    /// Reads the text of a holder; nil for a partition that nobody owns.
    init?(_ text: String) {
      let words = text.split(separator: " ", maxSplits: 4, omittingEmptySubsequences: false)
      guard words.count == 5, let process = Int32(words[0]) else { return nil }
      self.init(
        process: process, start: String(words[1]), machine: String(words[2]),
        host: String(words[4]), opening: String(words[3]))
    }

    var text: String { "\(process) \(start) \(machine) \(opening) \(host)" }

    var description: String {
      let isThis =
        (process, start, machine) == (Self.this.process, Self.this.start, Self.this.machine)
      return "\(isThis ? "this process, " : "")process \(process) on host \(host)"
    }

    /// Whether it is known that the process has ended.
    var isDead: Bool {
      guard !machine.isEmpty, machine == Self.machine else { return false }
      return Self.start(of: process) != start
    }

    private static let machine: String = {
      guard
        let boot = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8),
        let space = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/ns/pid")
      else { return "" }
      return boot.trimmingCharacters(in: .whitespacesAndNewlines) + space
    }()

    /// When a process began; nil if there is none.
    private static func start(of process: Int32) -> String? {
      guard
        let line = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
        let end = line.lastIndex(of: ")")
      else { return nil }
      // The 22nd field; the 2nd, the program's name in brackets, may contain anything. A dead child of a process that
      // has not asked for its end has the state Z.
      let fields = line[end...].split(separator: " ")
      return fields.count > 20 && fields[1] != "Z" ? String(fields[20]) : nil
    }
  }
#endif
