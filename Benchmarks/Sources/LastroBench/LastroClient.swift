// SPDX-License-Identifier: Apache-2.0

import BenchSupport
import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl

/// A client that uses Lastro's public API like a service: the defaults, with an interceptor that logs and one that
/// retries.
@main
struct LastroClient: BenchClient {
  static let name = "lastro"

  private let stack: CurlNetworkStack
  /// The stack over the path of `dialer=`.
  private let dialed: TransportNetworkStack?
  private let arguments: Arguments
  private let httpVersion: String
  let executor: (any TaskExecutor)?

  init(_ arguments: Arguments) throws {
    stack = try CurlNetworkStack(try .bench(arguments), configuration: try .bench(arguments))
    dialed = try DialerPath.selected(arguments)?.stack(over: stack, arguments)
    self.arguments = arguments
    httpVersion = try arguments.isHTTP2 ? "2" : "1.1"
    executor = try arguments.number("executor") == 1 ? stack.executor : nil
  }

  func exchange(_ kind: Scenario, url: String) throws -> Exchange {
    switch kind {
    case .fetch, .idle, .cancel:
      if let dialed { try fetching(url, by: dialed) } else { try fetching(url, by: stack) }
    case .handshakes: try shakingHands(url)
    case .download: try downloading(url)
    case .upload: try uploading(url)
    case .json: try decoding(url)
    }
  }

  private func fetching(_ url: String, by stack: some HTTPNetworkStack) throws -> Exchange {
    let resource = RawHTTPResource.raw(try ResourceRequest(url: url))
    return { [self] in
      let answer = try await stack.fetch(resource)
      try check(answer.response)
      return Answer(status: answer.response.status.code, bytes: answer.value.count)
    }
  }

  private func shakingHands(_ url: String) throws -> Exchange {
    // With this field, the server and the client close the connection after the response. The server keeps no sessions,
    // so the next handshake is a full one.
    let resource = RawHTTPResource.raw(try ResourceRequest(url: url, headers: ["Connection": "close"]))
    return { [self] in
      let answer = try await stack.fetch(resource)
      try check(answer.response)
      guard !answer.response.facts.connectionReused else { throw BenchFailure.failed("a connection was reused") }
      return Answer(status: answer.response.status.code, bytes: answer.value.count)
    }
  }

  private func downloading(_ url: String) throws -> Exchange {
    let resource = RawHTTPResource.raw(try ResourceRequest(url: url))
    return { [self] in
      let sink = try Sink(file: arguments["file"])
      let answer = try await stack.stream(resource)
      try check(answer.response)
      for try await chunk in answer.value { try chunk.withUnsafeBytes { try sink.write($0) } }
      return Answer(status: answer.response.status.code, bytes: sink.bytes)
    }
  }

  private func uploading(_ url: String) throws -> Exchange {
    guard let size = try arguments.number("size") else { throw BenchFailure.failed("upload takes size=") }
    var request = try ResourceRequest(method: .post, url: url)
    request.body =
      if let file = arguments["file"] {
        try .file(path: file)
      } else {
        .stream(Chunks(size: size) { Data(count: $0) }, length: Int64(size))
      }
    // The timeouts for collected bodies end a fetch after a minute in total.
    request.options.timeouts = .streaming
    let resource = RawHTTPResource.raw(request)
    return { [self] in
      let answer = try await stack.fetch(resource)
      try check(answer.response)
      return Answer(status: answer.response.status.code, bytes: size)
    }
  }

  private func decoding(_ url: String) throws -> Exchange {
    guard let base = URL(string: url) else { throw BenchFailure.failed("\(url) is no URL") }
    return { [self] in
      let answer = try await stack.fetch(.people(at: base))
      try check(answer.response)
      guard !answer.value.isEmpty else { throw BenchFailure.failed("the document is empty") }
      return Answer(status: answer.response.status.code, bytes: Int(answer.response.facts.bytesReceived))
    }
  }

  /// Throws an error if the response used another HTTP version, because the result would not measure the requested one.
  private func check(_ response: ResourceResponse) throws(BenchFailure) {
    guard response.facts.httpVersion == httpVersion else {
      throw .failed("HTTP/\(response.facts.httpVersion ?? "?") in place of \(httpVersion)")
    }
  }

  static func isCancellation(_ error: any Error) -> Bool { (error as? HTTPFetchError<any Error>)?.isCancelled == true }

  func shutDown() async { await stack.shutDown() }
}
