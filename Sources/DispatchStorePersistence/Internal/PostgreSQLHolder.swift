#if PostgreSQL || SIMULATION
  import Foundation

  /// The process that owns a partition.
  package struct PostgreSQLHolder {
    package let process: Int32
    /// When the process began, in ticks since the machine's start: a later process may get the same number.
    let start: String
    /// The running machine and its numbering of processes; empty if that is not known.
    let machine: String
    let host: String

    /// Stands for the start of a process that could not be read.
    private static let unknown = "-"

    static let this = PostgreSQLHolder(
      process: getpid(), start: Self.state(of: getpid())?.start ?? Self.unknown,
      machine: Self.machine,
      host: ProcessInfo.processInfo.hostName)

    private init(process: Int32, start: String, machine: String, host: String) {
      (self.process, self.start, self.machine, self.host) = (process, start, machine, host)
    }

    /// Reads the text of a holder; nil for a partition that nobody owns.
    package init?(_ text: String) {
      // A number follows that tells the process's openings apart.
      let words = text.split(separator: " ", omittingEmptySubsequences: false)
      guard words.count >= 4, let process = Int32(words[0]) else { return nil }
      self.init(
        process: process, start: String(words[1]), machine: String(words[2]),
        host: String(words[3]))
    }

    var text: String { "\(process) \(start) \(machine) \(host)" }

    var description: String {
      let isThis = text == Self.this.text
      return "\(isThis ? "this process, " : "")process \(process) on host \(host)"
    }

    /// Whether it is known that the process has ended.
    var isDead: Bool {
      guard !machine.isEmpty, machine == Self.machine else { return false }
      guard let state = Self.state(of: process) else {
        // Also of a living process, the system's file may be hidden, or this process may have no descriptor left.
        return kill(process, 0) != 0 && errno == ESRCH
      }
      return state.hasEnded || start != Self.unknown && start != state.start
    }

    private static let machine: String = {
      guard
        let boot = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8),
        let space = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/ns/pid")
      else { return "" }
      return boot.trimmingCharacters(in: .whitespacesAndNewlines) + space
    }()

    /// When a process began, and whether it has ended and is not awaited yet; nil if that can't be read.
    private static func state(of process: Int32) -> (start: String, hasEnded: Bool)? {
      guard
        let line = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
        let end = line.lastIndex(of: ")")
      else { return nil }
      // The 22nd field; the 2nd, the program's name in brackets, may contain anything. A dead child of a process that
      // has not asked for its end has the state Z.
      let fields = line[end...].split(separator: " ")
      guard fields.count > 20 else { return nil }
      return (start: String(fields[20]), hasEnded: fields[1] == "Z")
    }
  }
#endif
