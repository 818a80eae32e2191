// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import Lastro

/// A rule that injects a fault into some requests of a stack, to see how a program copes with it.
///
/// ```swift
/// configuration.faults = [
///   try FaultRule("slow search", .delay(.seconds(2)), path: "/search", share: 0.1),
///   try FaultRule("outage", .respond(status: .serviceUnavailable), host: "api.example.com", every: 3),
/// ]
/// ```
///
/// The rules are below all other parts of a stack: retries, breakers, limiters and metrics treat a fault as if the network
/// or the server had caused it, and each attempt and each redirect counts as a request. The ledger names the rule.
///
/// All rules whose turn it is apply, in order: delays add up, and the first response or failure is the last. No request is
/// sent more often than without rules: a response or a failure takes the place of sending it.
public struct FaultRule: Sendable {
  /// The fault that a rule injects.
  @nonexhaustive
  public enum Fault: Sendable {
    /// The request waits before it is sent. The wait counts against the attempt and total timeouts.
    case delay(Duration)
    /// The request is not sent, and gets this response.
    case respond(status: HTTPResponse.Status, headers: HTTPFields = [:], body: String = "")
    /// The request is not sent, and fails with this code: `hostNotFound`, `connectFailed`, `connectTimeout` and
    /// `handshakeFailed` as if nothing had been sent, `sendFailed`, `connectionLost` and `idleTimeout` as if the server might
    /// have acted.
    case fail(FailureCode)
    /// The request is sent, and the connection seems to be lost after this number of bytes of the response's body. A
    /// shorter body is complete.
    case cutBody(after: Int)
  }

  /// The stages of the failures that can be injected, and whether the request may have been sent.
  static let failures: [FailureCode: (stage: FailureStage, isSent: Bool)] = [
    .hostNotFound: (.resolve, false), .connectFailed: (.connect, false), .connectTimeout: (.timeout, false),
    .handshakeFailed: (.tls, false), .sendFailed: (.send, true), .connectionLost: (.response, true),
    .idleTimeout: (.timeout, true),
  ]

  /// The name of the rule, which ledgers and errors show.
  public let name: String
  let fault: Fault
  let every: Int
  let share: Double
  let seed: UInt64
  private let host: String?
  private let path: String
  private let method: HTTPRequest.Method?

  /// Creates a rule. By default it applies to each request.
  ///
  /// - Parameters:
  ///   - name: the name: 1 to 60 visible characters and spaces of ASCII.
  ///   - fault: the fault.
  ///   - host: the host of the requests, without a port; an IPv6 address in brackets. Default `nil`: any.
  ///   - path: the beginning of their paths, as it is sent. Default `/`: any.
  ///   - method: their method. Default `nil`: any.
  ///   - every: the number `n` of a rule that applies to every nth matching request; at least 1. Default 1: each.
  ///   - share: the share of these requests that have the fault, from 0 to 1. Default 1: all.
  ///   - seed: the seed of the random numbers by which the share is drawn. Equal seeds choose the same requests, as long as
  ///     these come in the same order. Default 0.
  /// - Throws: `ConfigurationError` if a value is outside its range, or the fault cannot be injected.
  public init(
    _ name: String, _ fault: Fault, host: String? = nil, path: String = "/", method: HTTPRequest.Method? = nil,
    every: Int = 1, share: Double = 1, seed: UInt64 = 0
  ) throws(ConfigurationError) {
    guard (1...60).contains(name.utf8.count), name.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
      throw ConfigurationError(
        "the name of a fault rule is empty, too long or not ASCII",
        hint: "give it a short name, such as \"slow search\"")
    }
    guard every >= 1, (0...1).contains(share) else {
      throw ConfigurationError(
        "the fault rule \(name) applies to every \(every)th request and a share of \(share)",
        hint: "give a number of at least 1, and a share from 0 to 1")
    }
    guard path.hasPrefix("/") else {
      throw ConfigurationError(
        "the path of the fault rule \(name) has no slash at its beginning", hint: "begin it with /")
    }
    switch fault {
    case .delay(let time) where time < .zero:
      throw ConfigurationError("the delay of the fault rule \(name) is negative", hint: "give zero or more")
    case .cutBody(let count) where count < 0:
      throw ConfigurationError("the fault rule \(name) cuts bodies after a negative number", hint: "give zero or more")
    case .fail(let code) where Self.failures[code] == nil:
      throw ConfigurationError(
        "the fault rule \(name) cannot inject a failure with the code \(code)",
        hint: "the codes are \(Self.failures.keys.map(\.rawValue).sorted().joined(separator: ", "))")
    case .respond(let status, _, _) where status.code < 200:
      throw ConfigurationError("the fault rule \(name) has an interim status", hint: "give a status from 200 to 999")
    default: break
    }
    (self.name, self.fault, self.every, self.share, self.seed) = (name, fault, every, share, seed)
    (self.host, self.path, self.method) = (host?.lowercased(), path, method)
  }

  /// Whether the rule is about a request.
  func matches(_ head: HTTPRequest) -> Bool {
    guard method == nil || method == head.method, (head.path ?? "/").hasPrefix(path) else { return false }
    return host == nil || host == Origin(head)?.host
  }
}

extension StackConfiguration {
  /// The faults that are injected into the requests of the stack. Default none, which costs nothing.
  ///
  /// Stacks that are created with the same value count their requests together. WebSocket, Gemini and other dials of the
  /// same engine bypass the rules.
  public var faults: [FaultRule] {
    get { (layers[.faults] as? FaultLayer)?.rules ?? [] }
    set { layers[.faults] = newValue.isEmpty ? nil : FaultLayer(newValue) }
  }
}
