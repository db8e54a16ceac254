#if PostgreSQL
  import CPostgreSQL
#endif
#if PostgreSQL || SIMULATION
  /// The partition of a database on a server.
  package struct PostgreSQLPlace: Sendable {
    let url: String
    let partition: String
    /// The kind and the place for messages, without the password.
    let description: String
    /// Whether libpq can read the URL.
    let isValid: Bool

    /// The partition of a simulated server.
    package init(partition: String) {
      (url, self.partition, isValid) = ("", partition, true)
      description = "PostgreSQL partition \"\(partition)\""
    }
  }
#endif
#if PostgreSQL
  extension PostgreSQLPlace {
    init(url: String, partition: String) {
      (self.url, self.partition) = (url, partition)
      guard let options = PQconninfoParse(url, nil) else {
        (isValid, description) = (false, "PostgreSQL partition \"\(partition)\"")
        return
      }
      defer { PQconninfoFree(options) }
      var values: [String: String] = [:]
      var option = options
      while let keyword = option.pointee.keyword {
        if let value = option.pointee.val {
          values[String(cString: keyword)] = String(cString: value)
        }
        option += 1
      }
      isValid = true
      let host = values["host"] ?? values["hostaddr"] ?? "the local socket"
      let port = values["port"].map { ":\($0)" } ?? ""
      let name = values["dbname"] ?? values["user"] ?? "the user's"
      description = "PostgreSQL database \"\(name)\" at \(host)\(port), partition \"\(partition)\""
    }
  }
#endif
