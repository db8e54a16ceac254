#if PostgreSQL
  import CPostgreSQL
  import Foundation
#endif
#if PostgreSQL || SIMULATION
  /// The partition of a database on a server.
  package struct PostgreSQLPlace: Sendable {
    let url: String
    let partition: String
    /// The kind and the place for messages, without the password.
    let description: String
    /// Why it can't be opened; nil if nothing is wrong with its names.
    let problem: String?

    /// The partition of a simulated server.
    package init(partition: String) {
      (url, self.partition, problem) = ("", partition, nil)
      description = "PostgreSQL partition \"\(partition)\""
    }

    /// libpq's reason is not shown: it can have a part of the password.
    private static let unreadable = """
      the URL can't be read. Write it like postgresql://user@host:5432/database, with special characters as %40, or as \
      key=value pairs.
      """
  }
#endif
#if PostgreSQL
  extension PostgreSQLPlace {
    init(url: String, partition: String) {
      (self.url, self.partition) = (url, partition)
      guard let own = Self.values(of: url) else {
        (problem, description) = (Self.unreadable, "PostgreSQL partition \"\(partition)\"")
        return
      }
      // libpq would cut a name at a zero character.
      problem =
        partition.utf8.contains(0) ? "the partition's name can't have a zero character." : nil
      let values = Self.defaults(of: own["service"]).merging(own) { $1 }
      let host = values["host"] ?? values["hostaddr"] ?? "the local socket"
      let port = values["port"].map { ":\($0)" } ?? ""
      let name = values["dbname"] ?? values["user"] ?? "the user's"
      description = "PostgreSQL database \"\(name)\" at \(host)\(port), partition \"\(partition)\""
    }

    /// Reads the parts of a URL; nil if it can't be read, or if a part of the password may be in another one.
    private static func values(of url: String) -> [String: String]? {
      guard !url.utf8.contains(0), !hasSlashInPassword(url),
        let options = PQconninfoParse(url, nil)
      else { return nil }
      defer { PQconninfoFree(options) }
      let values = values(of: options) { _ in true }
      // A password with an "@" that is not written as %40 reaches into the host. Sockets without a file begin with one.
      let hasAtInPassword = (values["host"] ?? "").dropFirst().contains("@")
      let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
      let hasPorts = (values["port"] ?? "").utf8.allSatisfy {
        digits.contains($0) || $0 == UInt8(ascii: ",")
      }
      return hasPorts && !hasAtInPassword ? values : nil
    }

    /// The values that libpq takes if the URL leaves them out: those of the service that it names, or of the environment.
    private static func defaults(of service: String?) -> [String: String] {
      // Only connecting reads the service's file.
      if let service { return ["host": "the service \"\(service)\"", "dbname": "the service's"] }
      guard let options = PQconndefaults() else { return [:] }
      defer { PQconninfoFree(options) }
      // Without libpq's own port: a socket has none.
      return values(of: options) { option in
        option.compiled.map { strcmp($0, option.val) != 0 } ?? true
      }
    }

    private static func values(
      of options: UnsafeMutablePointer<PQconninfoOption>, where isTaken: (PQconninfoOption) -> Bool
    ) -> [String: String] {
      var values: [String: String] = [:]
      var option = options
      while let keyword = option.pointee.keyword {
        if let value = option.pointee.val, isTaken(option.pointee) {
          values[String(cString: keyword)] = String(cString: value)
        }
        option += 1
      }
      return values
    }

    /// Whether a "/" comes before an "@" in a URL: libpq takes what is before it for the host and the port.
    private static func hasSlashInPassword(_ url: String) -> Bool {
      let schemes = ["postgresql://", "postgres://"]
      guard let scheme = schemes.first(where: { url.hasPrefix($0) }) else { return false }
      let names = url.utf8.dropFirst(scheme.utf8.count).prefix { $0 != UInt8(ascii: "?") }
      return names.drop { $0 != UInt8(ascii: "/") }.contains(UInt8(ascii: "@"))
    }
  }
#endif
