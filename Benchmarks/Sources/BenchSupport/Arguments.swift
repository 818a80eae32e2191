// SPDX-License-Identifier: Apache-2.0

/// The command line: a scenario, and `key=value` pairs in any order.
public struct Arguments: Sendable {
  /// The scenario to measure.
  public let scenario: Scenario
  private let values: [String: String]

  /// The valid keys. Any other key is an error, because a typing error would otherwise go unnoticed.
  private static let keys: Set<String> = [
    "url", "url2", "concurrency", "requests", "warmup", "size", "ca", "http", "file", "connections", "pins",
    "interceptors", "waiting", "loops", "executor", "dialer", "proxy", "hosts",
  ]

  /// Parses a command line without the program's name.
  public init(_ words: some Collection<String>) throws(BenchFailure) {
    guard let name = words.first, let scenario = Scenario(rawValue: name) else {
      let names = Scenario.allCases.map(\.rawValue).joined(separator: " | ")
      throw .failed("usage: \(names) key=value …")
    }
    self.scenario = scenario
    var values: [String: String] = [:]
    for word in words.dropFirst() {
      guard let equals = word.firstIndex(of: "="), Self.keys.contains(String(word[..<equals])) else {
        throw .failed("\(word) is not one of \(Self.keys.sorted().joined(separator: "=, "))=")
      }
      values[String(word[..<equals])] = String(word[word.index(after: equals)...])
    }
    self.values = values
  }

  /// Throws an error if one of the keys was given. For clients that do not support some keys: if they ignored a key,
  /// they would measure a different scenario.
  public func refuse(_ keys: String...) throws(BenchFailure) {
    for key in keys where values[key] != nil { throw .unsupported("the client has nothing for \(key)=") }
  }

  /// Returns the value of a key; `nil` if the key was not given.
  public subscript(key: String) -> String? { values[key] }

  /// Returns the value of a required key.
  public func required(_ key: String) throws(BenchFailure) -> String {
    guard let value = values[key] else { throw .failed("\(key)= is missing") }
    return value
  }

  /// Returns the number of a key; `nil` if the key was not given.
  public func number(_ key: String) throws(BenchFailure) -> Int? {
    guard let value = values[key] else { return nil }
    guard let number = Int(value), number >= 0 else { throw .failed("\(key)=\(value) is not a number of 0 or more") }
    return number
  }
}

extension Arguments {
  /// The number of requests in flight. Default 1.
  public var concurrency: Int {
    get throws(BenchFailure) { max(1, try number("concurrency") ?? 1) }
  }

  /// The number of measured requests. Default 1.
  public var requests: Int {
    get throws(BenchFailure) { max(1, try number("requests") ?? 1) }
  }

  /// The number of requests before the measurement. Default: the number of requests in flight, at least 200; 1 for
  /// downloads and uploads.
  public var warmup: Int {
    get throws(BenchFailure) {
      if let given = try number("warmup") { return given }
      if [.download, .upload].contains(scenario) { return 1 }
      return max(try concurrency, 200)
    }
  }

  /// Whether HTTP/2 is requested.
  public var isHTTP2: Bool {
    get throws(BenchFailure) {
      switch values["http"] ?? "1" {
      case "1": return false
      case "2": return true
      case let other: throw .failed("http=\(other): it is 1 or 2")
      }
    }
  }
}
