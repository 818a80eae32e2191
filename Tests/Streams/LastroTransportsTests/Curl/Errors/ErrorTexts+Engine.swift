// SPDX-License-Identifier: Apache-2.0

import CLastro
import FoundationEssentials
import Glibc
import HTTPTypes
import LastroTesting
import Testing

@testable import Lastro
@testable import LastroCurl
@testable import LastroHTTP
@testable import LastroWire

extension ErrorTexts {
  static func engineConfiguration() throws -> Self {
    var texts = Self()
    func configuration(_ edit: (inout CurlConfiguration) -> Void) -> () throws -> Any {
      var configuration = CurlConfiguration()
      edit(&configuration)
      return { [configuration] in
        _ = try configuration.pinnedConnection()
        return try configuration.checked()
      }
    }
    let pins = ["A", "B"].map { "sha256/" + String(repeating: $0, count: 43) + "=" }
    let policy = try PinningPolicy("a.example", pins: pins)
    let judge = ServerTrustEvaluator(
      configuration: try .init(pinningPolicies: [policy], allowNotPinnedDomains: true))
    func tls(_ edit: (inout TLSOptions) -> Void) -> () throws -> Any {
      var options = TLSOptions()
      edit(&options)
      return { [options] in
        try CipherNames.check(options)
        return try ClientIdentities(options)
      }
    }
    let identity = TLSOptions.Identity(certificate: .bytes([]))
    func roots(_ source: TLSOptions.Roots) -> () throws -> Any {
      { try RootStore(source) }
    }
    texts.provoke(
      configuration {
        $0.pins = [policy]
        $0.connection.tls.trustJudge = judge
      },
      configuration { $0.pins = [policy, policy] }, configuration { $0.loops = 0 },
      configuration { $0.maximumQueuedRequests = -1 }, configuration { $0.userAgent = "a\n" },
      configuration { $0.maximumContentCodings = 9 }, configuration { $0.loops = 65 },
      configuration { $0.idleLifetime = .zero }, { try ALPNOffer.wireForm([""]) },
      { try ALPNOffer.wireForm(Array(repeating: String(repeating: "a", count: 255), count: 999)) },
      tls { $0.cipherSuites = [] }, tls { $0.cipherSuites = ["x"] }, tls { $0.legacyCiphers = ["x"] },
      tls { $0.hostIdentities = ["a b": identity] },
      tls { $0.hostIdentities = ["a.example": identity, "A.example": identity] },
      { try ProxyResolver(.url("ftp://p", bypass: []), environment: .environment()) },
      roots(.file("/nowhere/roots.pem")),
      roots(.file("/")), roots(.directory("/nowhere")), roots(.pem([])),
      roots(.pem(Array("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".utf8))),
      { try KeyLogFile(path: "/nowhere/keys") }, { try FileDescriptor(reading: "/nowhere/body") },
      { try FileDescriptor(reading: "/").read(upTo: 1) as Any })
    texts.add(ConfigurationError.noInbox(EMFILE), ConfigurationError.noLoop(EAGAIN))
    return texts
  }

  /// Returns the meanings of libcurl's results, for a dial with and without a proxy.
  static func engineResults() throws -> Self {
    var texts = Self()
    var facts = clastro_facts()
    func explain(_ code: UInt32, isProxied: Bool = false, socket: String? = nil) {
      let ends = CurlCode.Ends(
        server: "a.example:443", host: "a.example", proxy: isProxied ? "proxy.example:3128" : "",
        socket: socket, connectTimeout: .seconds(10))
      let meaning = CurlCode.explain(
        CURLcode(rawValue: code), of: ends, facts: facts, isProxied: isProxied)
      // Its own words differ from version to version.
      let message = meaning.message.replacing(CurlCode.text(CURLcode(rawValue: code)), with: "LIBCURL'S WORDS")
      texts.add(TransportError(stage: meaning.stage, code: meaning.code, message: message, hint: meaning.hint))
    }
    let tooLarge = UInt32(CLASTRO_CURLE_TOO_LARGE)
    // Not every libcurl has it.
    for code in 1...CURL_LAST.rawValue - 1 where code != tooLarge {
      let isOfProxy = [CURLE_COULDNT_RESOLVE_PROXY, CURLE_PROXY].contains { $0.rawValue == code }
      for isProxied in isOfProxy ? [true] : [false, true] { explain(code, isProxied: isProxied) }
    }
    explain(tooLarge, isProxied: true)
    facts.connect_code = 407
    explain(CURLE_RECV_ERROR.rawValue, isProxied: true)
    for status in [403, 502, 500] {
      facts.connect_code = status
      explain(CURLE_RECV_ERROR.rawValue, isProxied: true)
    }
    facts.connect_code = 0
    facts.os_errno = Int(ECONNREFUSED)
    for isProxied in [false, true] { explain(CURLE_COULDNT_CONNECT.rawValue, isProxied: isProxied) }
    explain(CURLE_COULDNT_CONNECT.rawValue, socket: "/run/a")
    texts.masks = minted
    for failure in try verifyFailures() {
      for isProxy in [false, true] {
        let (stage, code, message, hint) = failure.meaning(
          of: isProxy ? "proxy.example:443" : "a.example:443", isProxy: isProxy)
        let words = String(cString: clastro_verify_text(failure.result))
        texts.add(
          TransportError(
            stage: stage, code: code, message: message.replacing(words, with: "OPENSSL'S WORDS"), hint: hint))
      }
    }
    return texts
  }

  private static func verifyFailures() throws -> [VerifyFailure] {
    func certificate(_ hosts: [String]) throws -> PeerCertificate? {
      let pem = try CertificateMint.selfSigned(hosts: hosts).certificatePEM
      return try PeerCertificate.certificates(pem: pem).first
    }
    let named = try certificate(["b.example", "*.b.example"]), nameless = try certificate([])
    let many = try certificate((1...9).map { "h\($0).example" } + ["a b"])
    return [
      CLASTRO_VERIFY_EXPIRED, CLASTRO_VERIFY_NOT_YET_VALID, CLASTRO_VERIFY_OTHER_HOST, CLASTRO_VERIFY_NO_ISSUER, 12,
    ].map { VerifyFailure(result: Int($0)) } + [
      VerifyFailure(result: Int(CLASTRO_VERIFY_EXPIRED), certificate: named),
      VerifyFailure(result: Int(CLASTRO_VERIFY_EXPIRED), certificate: named, depth: 1),
      VerifyFailure(result: Int(CLASTRO_VERIFY_NOT_YET_VALID), certificate: named),
      VerifyFailure(result: Int(CLASTRO_VERIFY_OTHER_HOST), certificate: named),
      VerifyFailure(result: Int(CLASTRO_VERIFY_OTHER_HOST), certificate: many),
      VerifyFailure(result: Int(CLASTRO_VERIFY_OTHER_HOST), certificate: nameless),
    ]
  }

  static func transfers() -> Self {
    var texts = Self()
    var request = TransferRequest(
      head: HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: "/"),
      connectTimeout: .seconds(10), idleTimeout: .seconds(60), deadline: .seconds(29))
    request.wholeTimeout = .seconds(30)
    let reset = TransportError(
      stage: .response, code: .http2Failure, message: "the HTTP/2 stream was reset", requestSent: true)
    texts.add(
      TransportError.bodyTooLarge(9), .bodyTooLarge(9, announced: 99), .decompressionBomb(ratio: 100, delivered: 99),
      .queueFull(9), .closedAfterSending, .goneBeforeSending,
      .spokenFirst, .resetBeforeAnswer, .resetInBody,
      .unexpectedTunnel, .unsteadyTrust, .noHandle, .shutDown, .expiredInQueue(request), .connectTimedOut(request),
      .twoReaders, .answerTaken,
      .bodyBeforeHead, .proxyWantsCredentials, .sourceFailed(reset),
      .sourceTooShort(2, of: 3), .sourceTooLong(3), .connectTimedOut("a.example:443", within: .seconds(10)),
      .noMemoryForBody, .endlessTunnelAnswer, .cannotTrail("content-type"), .tooManyContentCodings(9, limit: 1),
      .unknownContentCoding("br"))
    for place in ExchangeStage.allCases {
      for code in [FailureCode.totalTimeout, .attemptTimeout] {
        request.deadlineCode = code
        texts.add(TransportError.late(isIdle: false, place, of: request))
      }
      texts.add(TransportError.late(isIdle: true, place, of: request))
    }
    texts.add(
      TransportError.refusedProxy("proxy.example:0x"), .refusedSocketPath("/run/a"),
      .refusedInterface("eth9"), .unreadableHost,
      .unreadableProxyHost, .unmarkedProxy, .noContextHook, .emptyIdentity(isKey: false), .emptyIdentity(isKey: true))
    for assumption in TrustAssumption.allCases {
      let error = TransportError.brokenAssumption(assumption)
      let libraries = CurlCapabilities.current
      texts.add(
        "TransportError",
        "\(error)".replacing("\(libraries.curlVersion) with \(libraries.tlsBackend)", with: "VERSION with TLS"))
    }
    texts.add(HeadViolation.wrongVersion(2).transportError)
    for cut in [BodyCut.unread, .late] { texts.add("BodyCut", "\(cut)") }
    return texts
  }

  static func engineStreams() -> Self {
    var texts = Self()
    texts.add(
      TransportError.streamClosed, .streamBusy, .emptyRead(0), .idleStream(within: .seconds(5)),
      .dialTimedOut(within: .seconds(10)), .dialTimedOut(within: nil),
      .dialTimedOut(to: "a.example:443", within: .seconds(10)),
      .noTLS("SOCKS5Dialer"),
      .writingFinished, .truncatedStream, .idleStream("no byte came", within: .seconds(5)),
      .idleStream("not all bytes were taken", within: .seconds(5)),
      .idleStream("no datagram came", within: .seconds(5)),
      .idleStream("the datagram was not sent", within: .seconds(5)),
      .refusedStream(CURLM_INTERNAL_ERROR),
      .refusedHost("a.example"), .noMemoryForStream, .goneAtOnce,
      .receivingFailed("a.example:443", ECONNRESET, CURLE_RECV_ERROR),
      .sendingFailed("a.example:443", EPIPE, CURLE_SEND_ERROR), .unfinished(ENOTCONN), .unfinishedTLS(nil),
      .unfinishedTLS(EPIPE),
      .lookupsFull(9), .noLookupThread, .noAddress(of: "a.example", EAI_NONAME), .interfaceWithNUL,
      .unsupportedInterface("a.example"),
      .missingInterface("eth9", ENODEV), .noDatagramSocket(EMFILE), .missingName("a.example"),
      .foreignNameError(CancellationError()),
      .dialTimedOut(to: "a.example:443", within: .seconds(10)).stillResolving,
      .goneAtOnce.ofAddresses("192.0.2.1: Connection refused; 192.0.2.2: Connection refused", of: "a.example:443"))
    guard let target = TrustTarget(authority: "a.example", defaultPort: 443) else { return texts }
    texts.add(
      TransportError.egressDenied(.address(.addressClass(.loopback), target)),
      .egressDenied(.address(.embedded(.loopback), target)), .egressDenied(.address(.range, target)),
      .egressDenied(.address(.port, target)), .egressDenied(.address(.unreadable, target)), .egressDenied(.proxy),
      .egressDenied(.unixSocket))
    for code in [ECONNREFUSED, EMSGSIZE, EIO] {
      for stage in [FailureStage.send, .response] { texts.add(DatagramSession.failure(stage, code)) }
    }
    texts.add(
      TransportError.endlessAnswers, .noTLSSession, .unrecordedChain, .refusedVersion, .refusedCiphers,
      .refusedProtocols, .unusableIdentity, .unreadableIdentity("/nowhere/a.pem", .system(ENOENT)),
      .unreadableIdentity("/nowhere/a.pem", .unfit), .unreadableIdentity("/nowhere/a.pem", .tooLarge),
      .unreadableIdentity("/nowhere/a.pem", .silent), .noReadingThread,
      .lateFiles(of: "a.example:443", within: .seconds(10)), .noSystemRoots, .noMemoryForRoots,
      .brokenHandshake(.tls, "a.example:443", nil),
      .brokenHandshake(.tls, "a.example:443", "no reason given"), .brokenTLS("a.example:443", "no reason given"))
    for (value, isMissing) in [(Int32(40), false), (40, true), (116, false), (120, false)] {
      let alert = TLSAlert(value: value, certificateWasMissing: isMissing)
      for isSent in [false, true] { texts.add(alert.failure(.tls, requestSent: isSent)) }
    }
    return texts
  }

  static func http2() -> Self {
    var texts = Self()
    let codes: [LastroHTTP.HTTP2ErrorCode] = [.cancel, .enhanceYourCalm, .inadequateSecurity]
    for code in codes { texts.add(TransportError.resetStream(code), .cutByReset(code), .closedWith(code)) }
    let reasons: [HTTP2Unprocessed] = [.unsent, .refused, .aboveGoAway, .http11Required]
    for reason in reasons { texts.add(TransportError(reason)) }
    let violations: [(HTTP2Violation.Kind, String)] = [
      (.headTooLarge, "the response head exceeds 9 bytes"),
      (.tooManyFields, "the response head has more than 9 fields"),
      (.tooManyInterimResponses, "the server sent more than 9 interim responses without progress"),
      (.requestBody, "the request's body has more bytes than its Content-Length"),
      (.fieldTooLarge, "a field of the response has more than 65536 bytes, the most over HTTP/2, or is no HPACK"),
      (.requestFields, "the request's head cannot be sent: The length of the frame is invalid"),
      (.memory, "memory for an HTTP/2 session ran out"),
      (.idleBytes, "the server floods the connection with frames of closed streams, or of unknown types"),
    ]
    for (kind, message) in violations { texts.add(TransportError(HTTP2Violation(kind, message))) }
    texts.add(TransportError.unansweredPing, .fieldsTooLarge("head"))
    return texts
  }

  static func codings() -> Self {
    var texts = Self()
    func inflate(_ bytes: [UInt8], _ format: InflateMachine.Format = .gzip) -> () throws -> Any {
      {
        do {
          var machine = InflateMachine(format)
          var rest = bytes[...]
          var space = [UInt8](repeating: 0, count: 4096)
          while !rest.isEmpty {
            let progress = try rest.withUnsafeBytes { input in
              try space.withUnsafeMutableBytes { try machine.decode(input, into: $0) }
            }
            rest = rest.dropFirst(progress.consumed)
            if progress.consumed == 0, progress.produced == 0 { break }
          }
          try machine.end()
        } catch let violation as CodingViolation {
          throw violation.transportError
        }
        return 0
      }
    }
    let empty: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    texts.provoke(
      inflate([0x1F]), inflate(Array("plain text".utf8)), inflate(empty + Array("x".utf8)))
    texts.add(CodingViolation(.memory, "memory to decompress ran out").transportError)
    return texts
  }
}
