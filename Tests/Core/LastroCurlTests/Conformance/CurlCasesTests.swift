// SPDX-License-Identifier: Apache-2.0

import ConformanceData
import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

/// curl's tests of plain HTTP. The engine must accept and refuse the same responses as curl. The exceptions are in
/// `differences.txt` beside the cases, each with its reason. The list is exact: a difference that is missing or
/// obsolete fails.
@Suite("Conformance: curl's HTTP cases", .overEachLink, .timeLimit(.minutes(15)))
struct CurlCasesTests {
  @Test("Each response is accepted or rejected as curl does")
  func corpus() async throws {
    let cases = try CurlCase.all()
    #expect(cases.count == 126)
    var unlike: [Int: String] = [:]
    for item in cases {
      let outcome = try await Self.outcome(item)
      if outcome.isAnswer != (item.errorcode == 0) {
        unlike[item.test] = "\(item.name): \(outcome); curl \(item.errorcode)"
      }
    }
    let known = try CurlCase.differences()
    #expect(unlike.filter { !known.contains($0.key) } == [:], "reads differently from curl and is not listed")
    #expect(known.subtracting(unlike.keys) == [], "is listed but reads alike")
  }

  /// The outcome of a case, and the requests that the server received for it.
  struct Result: Equatable, CustomStringConvertible {
    var outcome: Outcome
    var requests: [String]
    var isAnswer: Bool {
      if case .answered = outcome { true } else { false }
    }
    var description: String { "\(outcome) \(requests)" }
  }

  private static func outcome(_ item: CurlCase) async throws -> Result {
    let server = try CurlCaseServer.start(item)
    defer { server.stop() }
    var configuration = StackConfiguration.patient
    configuration.interceptors = try item.interceptors(server)
    let stack = try LinkKind.current.stack(
      { $0.decompresses = item.request.compressed }, configuration: configuration)
    var options = RequestOptions()
    options.redirects = item.request.follow ? .follow(limit: 50) : RedirectPolicy.none
    let outcome: Outcome
    do throws(RawFailure) {
      let answer = try await stack.send(
        HTTPRequest.Method(item.request.method) ?? .get, server.baseURL + item.path,
        headers: item.fields, body: item.request.body.map { .raw($0) } ?? .empty, options: options)
      outcome = .answered(answer.response.status.code, sha256(answer.value))
    } catch {
      // A status that is not a success still counts as an answer, unless its body is broken.
      let isAnswer = error.words == "http/unexpected_status"
      outcome =
        isAnswer
        ? .answered(error.statusCode?.code ?? 0, sha256(error.body ?? Data()))
        : .failed(error.words)
    }
    return Result(outcome: outcome, requests: server.requests.map { "\($0.method) \($0.target)" })
  }
}

extension CurlCase {
  /// The request's header fields, with the Basic credentials as an `Authorization` field.
  fileprivate var fields: RawHeaders {
    var fields = RawHeaders()
    for header in request.headers { fields.append(RawHeaders.Name(header[0]), header[1]) }
    if let auth = request.auth, auth[0] == "basic" {
      fields.append("Authorization", "Basic " + Data("\(auth[1]):\(auth[2])".utf8).base64EncodedString())
    }
    return fields
  }

  fileprivate func interceptors(_ server: LoopbackServer) throws -> [any HTTPResourceInterceptor] {
    guard let auth = request.auth, auth[0] == "digest" else { return [] }
    return [try DigestAuthenticator(user: auth[1], password: Secret(auth[2]), origins: [try Origin(server.baseURL)])]
  }
}

/// A server that answers as curl's own test server does, and closes the connection after the last answer.
enum CurlCaseServer {
  static func start(_ item: CurlCase) throws -> LoopbackServer {
    try LoopbackServer { connection in
      while let request = try connection.readRequest() {
        let reply = item.reply(to: request)
        try connection.write(reply)
        // If an answer has no length, closing the connection ends it. The second request might then be lost with the
        // connection.
        let isWhole = String(decoding: reply, as: UTF8.self).contains("Content-Length: ")
        guard item.replies.count > 1, isWhole else { return }
      }
    }
  }
}

extension CurlCase {
  /// Returns the reply for a request. The target contains the reply's number, and a request with a digest has a reply
  /// of its own.
  fileprivate func reply(to request: LoopbackRequest) -> Data {
    let hasDigest = request.head["Authorization"]?.hasPrefix("Digest") == true
    let part = hasDigest ? "data1000" : request.target.contains("\(test)0002") ? "data2" : "data"
    let reply = replies[part] ?? replies["data"] ?? Data()
    let port = request.head["Host"]?.split(separator: ":").last ?? ""
    return reply.replacing("%HTTPPORT".utf8, with: Data(port.utf8))
  }
}
