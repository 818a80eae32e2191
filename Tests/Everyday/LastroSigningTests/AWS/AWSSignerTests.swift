// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import Lastro
@testable import LastroSigning

@Suite("Signing for AWS", .timeLimit(.minutes(15)))
struct AWSSignerTests {
  private static let url = "https://bucket.s3.eu-west-1.amazonaws.com"

  private static func signer(
    _ service: String = "s3", payload: AWSSigner.Payload = .signed, time: TimeSource = .at(1_440_938_160),
    token: Secret? = nil
  ) throws -> AWSSigner {
    let credentials = try AWSCredentials(
      accessKeyID: "AKIDEXAMPLE", secretAccessKey: "hidden-key", sessionToken: token)
    return try AWSSigner(
      service: service, region: "eu-west-1", origins: [Origin(url)], payload: payload, time: time
    ) { credentials }
  }

  private static func stack(
    _ transport: ScriptedTransport, _ signer: AWSSigner, _ interceptors: [any HTTPResourceInterceptor] = [.retry]
  ) -> TransportNetworkStack {
    var configuration = StackConfiguration(interceptors: interceptors)
    configuration.signers = [signer]
    return TransportNetworkStack(transport: transport, configuration: configuration)
  }

  @Test("Every attempt is signed with the time and the credentials of its moment")
  func attempts() async throws {
    let count = Lock(0)
    let seconds = Lock(Int64(1_440_938_160))
    let time = TimeSource(
      now: TimeSource.continuous.now, sleep: { _ in }, sinceEpoch: { .seconds(seconds.withLock { $0 }) })
    let signer = try AWSSigner(service: "s3", region: "eu-west-1", origins: [Origin(Self.url)], time: time) {
      let number = count.withLock { count in
        count += 1
        return count
      }
      seconds.withLock { $0 += 60 }
      return try AWSCredentials(
        accessKeyID: "AKID\(number)", secretAccessKey: "hidden-key",
        sessionToken: number == 1 ? "hidden-token" : nil)
    }
    let transport = ScriptedTransport([.respond(status: 503), .respond(status: 200)])
    let stack = Self.stack(transport, signer)
    let response = try await stack.fetch(.get(Self.url + "/a")).response
    let sent = transport.requests.map(\.resourceRequest.fields)
    #expect(sent.map { $0["x-amz-date"] } == ["20150830T123700Z", "20150830T123800Z"])
    #expect(sent.map { $0["x-amz-security-token"] } == ["hidden-token", nil])
    #expect(sent[0]["authorization"]?.contains("Credential=AKID1/20150830/eu-west-1/s3/aws4_request") == true)
    #expect(sent[1]["authorization"]?.contains("Credential=AKID2/") == true)
    let notes = response.ledger.attempts.compactMap(\.facts).flatMap(\.notes).map(\.text)
    #expect(notes.contains("signed: AWSSigner, for s3 in eu-west-1, with signed payload"))
    #expect("\(response.ledger)".contains("signed: AWSSigner, for s3"))
    #expect(!response.ledger.json().contains("hidden"))
  }

  @Test("A redirect to another origin has no part of the signature")
  func redirected() async throws {
    let transport = ScriptedTransport([
      .respond(status: .init(code: 307), headers: [.location: "https://elsewhere.example/b"]), .respond(status: 200),
    ])
    let stack = Self.stack(transport, try Self.signer(token: "hidden-token"))
    _ = try await stack.fetch(.get(Self.url + "/a"))
    let fields = try #require(transport.requests.last?.resourceRequest.fields)
    #expect(transport.requests.count == 2)
    #expect(fields.keys.filter { $0.hasPrefix("x-amz") || $0 == "authorization" }.isEmpty)
  }

  @Test("A call is explained with the service and without secrets")
  func explained() async throws {
    let signer = try Self.signer(token: "hidden-token")
    let stack = Self.stack(ScriptedTransport(), signer, [signer, .retry])
    let text = await stack.explain(.get(Self.url + "/a"))
    #expect(text.contains("signed by: AWSSigner, for s3 in eu-west-1, with signed payload"))
    #expect(text.contains("1. AWSSigner: corrects a wrong clock"))
    // The statuses 400, 401 and 403 may be refusals of the time.
    #expect(text.components(separatedBy: "unless AWSSigner decides otherwise").count == 4)
    #expect(!text.contains("hidden"))
  }

  @Test("A path and a query are sent as they are signed")
  func spelling() async throws {
    let signer = try Self.signer()
    for (written, sent) in [
      ("/a+b/%7Ec%2fd?x=1+2&y=a/b&uploads", "/a%2Bb/~c%2Fd?x=1%2B2&y=a%2Fb&uploads"), ("/", "/"), ("/?", "/"),
      ("/%", "/%25"), ("/a?b=c=d", "/a?b=c%3Dd"),
    ] {
      let request = try await signer.signing(ResourceRequest(url: Self.url + written))
      #expect(request.head.path == sent)
    }
  }

  @Test("A dot segment, also a percent-encoded one, is refused for every service but S3")
  func dotSegments() async throws {
    let signer = try Self.signer("execute-api")
    for path in ["/a/%2E%2E/b", "/%2e", "/a/.%2E?x", "/a/%2E."] {
      let request = try ResourceRequest(url: Self.url + path)
      let error = try await #require(throws: TransportError.self) { try await signer.signing(request) }
      #expect(error.code == .invalidURL && error.hint != nil)
      await #expect(throws: TransportError.self) { try await signer.presigned(request) }
      _ = try await Self.signer().signing(request)
    }
    #expect(try await signer.signing(ResourceRequest(url: Self.url + "/a../...?x=..")).head.path == "/a../...?x=..")
  }

  @Test("A chunked body has all its bytes in chunks of 64 KiB, however it is given")
  func chunks() async throws {
    let bytes = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
    let pieces = stride(from: 0, to: bytes.count, by: 30_001).map { bytes[$0..<min($0 + 30_001, bytes.count)] }
    for body in [
      RequestBody.raw(bytes), .stream(Repeating(chunks: pieces.map { Data($0) }), length: 200_000, isReplayable: true),
      .stream(Repeating(chunks: [bytes.dropFirst(0)]), length: 200_000, isReplayable: true),
    ] {
      let request = try ResourceRequest(method: .put, url: Self.url + "/a", body: body)
      let signed = try await Self.signer(payload: .chunked).signing(request)
      guard case .stream(let length?, _, let open) = signed.body.source else {
        Issue.record("the body is not framed")
        return
      }
      let next = open()
      var (whole, sizes, framed) = (Data(), [Int](), 0)
      while let chunk = try await next() {
        framed += chunk.count
        let head = chunk.prefix { $0 != UInt8(ascii: "\r") }
        whole += chunk.dropFirst(head.count + 2).dropLast(2)
        sizes.append(chunk.count - head.count - 4)
      }
      #expect(whole == bytes && sizes == [65_536, 65_536, 65_536, 3_392, 0] && Int64(framed) == length)
    }
  }

  @Test("A chunked body is framed, and a body of unknown length is refused")
  func chunked() async throws {
    let signer = try Self.signer(payload: .chunked)
    var request = try ResourceRequest(
      method: .put, url: Self.url + "/a", headers: ["Content-Encoding": "gzip"],
      body: .stream(AsyncStream<Data> { $0.finish() }, length: 0))
    let signed = try await signer.signing(request)
    #expect(signed.fields["content-encoding"] == "aws-chunked,gzip")
    #expect(signed.fields["x-amz-decoded-content-length"] == "0")
    #expect(signed.body.length == 86 && !signed.body.isReplayable)
    #expect(signed.options.redirects == RedirectPolicy.none)
    request.body = .empty
    #expect(try await signer.signing(request).body.isEmpty)
    request.body = .stream(AsyncStream<Data> { $0.finish() })
    let error = try await #require(throws: TransportError.self) { try await signer.signing(request) }
    #expect(error.code == .invalidBody)
  }

  @Test("A chunked body is refused if another signer signs its digest")
  func chunkedDigest() async throws {
    let message = try MessageSigner(
      SigningKey(secret: RFC9421.secret), keyID: "k", origins: [Origin(Self.url)])
    let chunked = try Self.signer(payload: .chunked)
    var request = try ResourceRequest(method: .put, url: Self.url + "/a", body: .raw("x"))
    for signers in [[message, chunked], [chunked, message]] as [[any RequestSigner]] {
      let error = try await #require(throws: TransportError.self) {
        try await Lastro.signed(request, by: signers, context: AttemptContext())
      }
      #expect(error.code == .invalidBody && error.hint != nil)
    }
    request.body = .empty
    _ = try await Lastro.signed(request, by: [message, chunked], context: AttemptContext())
  }

  @Test("A retried body is framed once, with the signatures of its attempt")
  func chunkedAgain() async throws {
    let transport = ScriptedTransport([.respond(status: 503), .respond(status: 200)])
    let stack = Self.stack(transport, try Self.signer(payload: .chunked))
    _ = try await stack.fetch(.send(.put, Self.url + "/a", body: .raw("0123456789")))
    for request in transport.requests.map(\.resourceRequest) {
      #expect(request.fields["content-encoding"] == "aws-chunked")
      guard case .stream(let length?, true, let open) = request.body.source else {
        Issue.record("the body is not framed")
        return
      }
      let next = open()
      var text = ""
      while let chunk = try await next() { text += String(decoding: chunk, as: UTF8.self) }
      #expect(Int64(text.utf8.count) == length && text.hasPrefix("a;chunk-signature="))
      #expect(text.components(separatedBy: "0123456789").count == 2)
    }
    #expect(transport.requests.count == 2)
  }

  @Test("A body that can be read once is refused if it is signed, and sent if it is not")
  func once() async throws {
    let request = try ResourceRequest(
      method: .put, url: Self.url + "/a", body: .stream(AsyncStream<Data> { $0.finish() }))
    let error = try await #require(throws: TransportError.self) { try await Self.signer().signing(request) }
    #expect(error.code == .invalidBody)
    let sent = try await Self.signer(payload: .unsigned).signing(request)
    #expect(sent.fields["x-amz-content-sha256"] == "UNSIGNED-PAYLOAD")
  }

  @Test("A wrong clock is corrected by the server's date, once for a call")
  func skew() async throws {
    let refusal = "<Error><Code>RequestTimeTooSkewed</Code></Error>"
    let date = HTTPField.Name.date
    let late: ScriptedTransport.Step = .respond(
      status: .forbidden, headers: [date: "Sun, 30 Aug 2015 13:36:00 GMT"], body: refusal)
    let transport = ScriptedTransport([late, .respond(status: 200), .respond(status: 200), late, late])
    let signer = try Self.signer()
    let stack = Self.stack(transport, signer, [signer])
    _ = try await stack.fetch(.get(Self.url + "/a"))
    _ = try await stack.fetch(.get(Self.url + "/b"))
    let times = transport.requests.map { $0.resourceRequest.fields["x-amz-date"] }
    #expect(times == ["20150830T123600Z", "20150830T133600Z", "20150830T133600Z"])
    await #expect(throws: HTTPFetchError<any Error>.self) { try await stack.fetch(.get(Self.url + "/c")) }
    #expect(transport.requests.count == 5)
  }

  @Test("Calls at the same time all correct the clock")
  func concurrentSkew() async throws {
    let signer = try Self.signer()
    let transport = ScriptedTransport { (request, _) throws(TransportError) in
      let isRight = request.resourceRequest.fields["x-amz-date"] == "20150830T133600Z"
      return TransferResponse(
        head: HTTPResponse(
          status: isRight ? .ok : .forbidden, headerFields: [.date: "Sun, 30 Aug 2015 13:36:00 GMT"]),
        body: ResponseBody(Data("RequestTimeTooSkewed".utf8)))
    }
    let stack = Self.stack(transport, signer, [signer])
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<20 { group.addTask { _ = try await stack.fetch(.get(Self.url + "/\(number)")) } }
      try await group.waitForAll()
    }
    #expect((21...40).contains(transport.requests.count))
  }

  @Test(
    "Another refusal, or one without a date, does not change the clock",
    arguments: [
      (403, "Sun, 30 Aug 2015 13:36:00 GMT", "<Code>AccessDenied</Code>"), (403, "soon", "<Code>RequestTimeTooSkewed"),
      (500, "Sun, 30 Aug 2015 13:36:00 GMT", "<Code>RequestTimeTooSkewed"),
      (403, "Sun, 30 Aug 2015 12:39:00 GMT", "<Code>RequestTimeTooSkewed"),
    ])
  func noSkew(status: Int, text: String, body: String) async throws {
    let transport = ScriptedTransport(
      repeatingLast: .respond(status: .init(code: status), headers: [.date: text], body: body))
    let signer = try Self.signer()
    let stack = Self.stack(transport, signer, [signer])
    await #expect(throws: HTTPFetchError<any Error>.self) { try await stack.fetch(.get(Self.url + "/a")) }
    #expect(transport.requests.count == 1)
  }

  @Test("Invalid settings are refused with a hint")
  func settings() async throws {
    func refused(
      _ part: String, _ make: () throws -> Void, at location: SourceLocation = #_sourceLocation
    ) {
      let error = #expect(throws: ConfigurationError.self, sourceLocation: location) { try make() }
      #expect(error?.message.contains(part) == true && error?.hint != nil, sourceLocation: location)
      #expect(error.map { !"\($0)".contains("hidden") } == true, sourceLocation: location)
    }
    let origin = try Origin(Self.url)
    let credentials = try AWSCredentials(accessKeyID: "A", secretAccessKey: "b")
    func signer(
      _ service: String, _ region: String, _ origins: [Origin], _ payload: AWSSigner.Payload = .signed
    ) throws {
      _ = try AWSSigner(service: service, region: region, origins: origins, payload: payload) { credentials }
    }
    refused("origins") { try signer("s3", "eu-west-1", []) }
    refused("service") { try signer("S3", "eu-west-1", [origin]) }
    refused("region") { try signer("s3", "", [origin]) }
    refused("region") { try signer("s3", "a/b", [origin]) }
    refused("s3express") { try signer("s3express", "eu-west-1", [origin]) }
    refused("chunked") { try signer("sqs", "eu-west-1", [origin], .chunked) }
    refused("encryption") { try signer("s3", "eu-west-1", [Origin("http://far.example")], .unsigned) }
    refused("access key id") { _ = try AWSCredentials(accessKeyID: "hidden-x", secretAccessKey: "y") }
    refused("secret access key") { _ = try AWSCredentials(accessKeyID: "A", secretAccessKey: "hidden\n") }
    refused("secret access key") { _ = try AWSCredentials(accessKeyID: "A", secretAccessKey: "") }
    refused("session token") { _ = try AWSCredentials(accessKeyID: "A", secretAccessKey: "y", sessionToken: "") }
    let own = try Self.signer()
    for lifetime in [Duration.zero, .seconds(604_801)] {
      await #expect(throws: ConfigurationError.self) {
        try await own.presigned(ResourceRequest(url: Self.url), expiresIn: lifetime)
      }
    }
    await #expect(throws: ConfigurationError.self) {
      try await own.presigned(ResourceRequest(url: "https://elsewhere.example"))
    }
  }

  @Test("An error of the credentials fails the attempt before anything is sent")
  func noCredentials() async throws {
    struct Gone: Error {}
    let transport = ScriptedTransport()
    let signer = try AWSSigner(service: "s3", region: "eu-west-1", origins: [Origin(Self.url)]) { throw Gone() }
    let error = try await #require(throws: HTTPFetchError<any Error>.self) {
      try await Self.stack(transport, signer).fetch(.get(Self.url))
    }
    #expect(error.stage == .request && transport.requests.isEmpty)
  }
}
