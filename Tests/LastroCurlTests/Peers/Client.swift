// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import Testing

typealias RawFailure = HTTPFetchError<any Error>
typealias RawAnswer = Network.Value<Data, ResourceResponse>

extension CurlNetworkStack {
  /// A stack that no proxy of the environment stands in front of.
  static func direct(
    _ edit: (inout CurlConfiguration) -> Void = { _ in }, configuration: StackConfiguration = .patient
  ) throws -> CurlNetworkStack {
    var engine = CurlConfiguration()
    engine.connection.proxy = .none
    edit(&engine)
    return try CurlNetworkStack(engine, configuration: configuration)
  }

  /// Fetches with a request of the given parts.
  func send(
    _ method: HTTPRequest.Method = .get, _ url: String, headers: RawHeaders = [:], body: RequestBody = .empty,
    options: RequestOptions = RequestOptions()
  ) async throws(RawFailure) -> RawAnswer {
    let make = BaseRequestMaking<ResourceRequest> {
      try ResourceRequest(method: method, url: url, headers: headers, body: body, options: options)
    }
    return try await fetch(RawHTTPResource(baseRequestMaking: make))
  }
}

extension StackConfiguration {
  /// Limits that a busy machine does not reach.
  static var patient: Self {
    var result = Self()
    let patient = try? Timeouts(connect: .seconds(600), attempt: nil, idle: .seconds(600), total: .seconds(900))
    if let patient { result.timeouts = patient }
    return result
  }
}

extension RequestOptions {
  /// Options with the connection's changed from direct ones.
  static func connection(_ edit: (inout ConnectionOptions) -> Void) -> RequestOptions {
    var options = RequestOptions()
    var connection = ConnectionOptions()
    connection.proxy = .none
    edit(&connection)
    options.connection = connection
    return options
  }
}

extension Network.Value where T == Data {
  var text: String { String(decoding: value, as: UTF8.self) }
}

/// What the failed operation threw; it may throw nothing but a failure of the stack.
func failure<Success>(
  sourceLocation: SourceLocation = #_sourceLocation, _ operation: () async throws -> Success
) async throws -> RawFailure {
  do {
    _ = try await operation()
  } catch let error as RawFailure {
    return error
  }
  let none: RawFailure? = nil
  return try #require(none, "it should have failed", sourceLocation: sourceLocation)
}

extension HTTPFetchError {
  /// Stage and code, as logs write them.
  var words: String { "\(stage.rawValue)/\(code)" }
}

/// The SHA-256 of bytes, in hexadecimal digits.
func sha256(_ data: Data) -> String { (try? MessageDigest(of: data))?.hexadecimal ?? "" }

/// The content of a peer's file: byte `i` is `i % 251`.
func pattern(_ count: Int) -> Data {
  let period = Data(0..<251)
  var data = Data(capacity: count + period.count)
  while data.count < count { data += period }
  return data.prefix(count)
}

/// Waits until a condition holds that another thread or process makes true; gives up after 8,000 looks.
func eventually(_ condition: () -> Bool) async -> Bool {
  for _ in 0..<8_000 {
    if condition() { return true }
    try? await Task.sleep(for: .milliseconds(5))
  }
  return condition()
}
