// SPDX-License-Identifier: Apache-2.0

public import Lastro
public import LastroGemini
internal import LastroWire

/// Gemini as a framer. One request is sent as a message without content. One response is received as a message whose
/// metadata has the header and whose content is the body.
///
/// ```swift
/// let connection = NetworkConnection(to: endpoint, using: .gemini, dialer: dialer)
/// let message = ProtocolFramer.Message(geminiRequest: request)
/// let context = ConnectionContentContext(identifier: "request", metadata: [message])
/// connection.send(content: nil, contentContext: context, isComplete: true, completion: .contentProcessed { _ in })
/// connection.receiveMessage { content, context, isComplete, error in
///   let message = context?.protocolMetadata(definition: GeminiProtocol.definition) as? ProtocolFramer.Message
///   let header = message?.geminiResponseHeader
/// }
/// ```
///
/// It handles only headers: `GeminiClient` provides redirects, prompts, limits and trust on first use. An invalid
/// header, or an end of the stream before its CRLF, fails the connection. Bytes after a header with a status other than
/// 2x are discarded.
public final class GeminiProtocol: ProtocolFramerImplementation {
  /// The label, `Gemini`.
  public static let label = "Gemini"
  /// The key of the metadata.
  public static let definition = ProtocolDefinition(implementation: GeminiProtocol.self)

  private var machine = GeminiHeaderMachine()
  private var hasSent = false

  /// Creates the framer of a connection.
  public init(framer: ProtocolFramer.Instance) {}

  /// Reads the header incrementally: no byte of it is examined twice.
  public func handleInput(framer: ProtocolFramer.Instance) -> Int {
    if machine.isComplete { return drop(framer) }
    var header: GeminiResponseHeader?
    var violation: GeminiHeaderViolation?
    _ = framer.parseInput(minimumIncompleteLength: 1, maximumLength: GeminiHeaderMachine.maximumBytes) {
      buffer, isComplete in
      do throws(GeminiHeaderViolation) {
        return try read(buffer, isComplete, &header)
      } catch {
        violation = error
        return 0
      }
    }
    if let violation {
      framer.markFailed(
        error: .transport(
          TransportError(
            stage: .response, code: violation.code, message: violation.message,
            hint: "the server does not follow the Gemini specification; report it to its owner", requestSent: hasSent)))
      return .max
    }
    guard let header else { return max(1, machine.minimumMissingBytes) }
    _ = framer.deliverInputNoCopy(
      length: header.status.isSuccess ? .max : 0, message: ProtocolFramer.Message(geminiResponseHeader: header),
      isComplete: true)
    return 1
  }

  /// Writes the request from the message's metadata. A message without a request fails, and so does a second request.
  public func handleOutput(
    framer: ProtocolFramer.Instance, message: ProtocolFramer.Message, messageLength: Int, isComplete: Bool
  ) {
    guard let request = message.geminiRequest, messageLength == 0 else {
      framer.markFailed(
        error: .transport(
          .refused(
            .invalidOption, "the Gemini message has no request in its metadata, or has content",
            hint: "send nil with ProtocolFramer.Message(geminiRequest:) in the context")))
      return
    }
    guard !hasSent else {
      framer.markFailed(
        error: .transport(
          .refused(
            .invalidOption, "the connection has already sent its request",
            hint: "use a new connection for each request")))
      return
    }
    hasSent = true
    framer.writeOutput(data: request.data)
  }

  private func read(
    _ buffer: UnsafeMutableRawBufferPointer?, _ isComplete: Bool, _ header: inout GeminiResponseHeader?
  ) throws(GeminiHeaderViolation) -> Int {
    var count = 0
    if let buffer {
      let (found, consumed) = try machine.consume(UnsafeRawBufferPointer(buffer))
      header = found.flatMap { found in
        GeminiStatus(rawValue: found.status).map { GeminiResponseHeader(status: $0, meta: found.meta) }
      }
      count = consumed
    }
    if isComplete { try machine.finish() }
    return count
  }

  private func drop(_ framer: ProtocolFramer.Instance) -> Int {
    _ = framer.parseInput(minimumIncompleteLength: 1, maximumLength: .max) { buffer, _ in buffer?.count ?? 0 }
    return 1
  }
}

private let requestKey = "gemini_request"
private let responseHeaderKey = "gemini_response_header"

extension ProtocolFramer.Message {
  /// Creates a message with a request in its metadata.
  public convenience init(geminiRequest request: GeminiRequest) {
    self.init(definition: GeminiProtocol.definition)
    self[requestKey] = request
  }

  /// Creates a message with the header of a response in its metadata.
  public convenience init(geminiResponseHeader header: GeminiResponseHeader) {
    self.init(definition: GeminiProtocol.definition)
    self[responseHeaderKey] = header
  }

  /// The request; `nil` if there is none.
  public var geminiRequest: GeminiRequest? { self[requestKey] as? GeminiRequest }
  /// The header of the response; `nil` if there is none.
  public var geminiResponseHeader: GeminiResponseHeader? { self[responseHeaderKey] as? GeminiResponseHeader }
}

extension ConnectionParameters {
  /// Parameters for Gemini over TLS 1.2 or later, with certificates checked as for a fetch. Each access creates new
  /// ones.
  public static var gemini: ConnectionParameters { gemini(tls: DialRequest.TLS()) }

  /// Returns parameters for Gemini over TLS 1.2 or later.
  ///
  /// - Parameter judge: the judge that alone checks the server's certificate. `GeminiClient` provides trust on first
  ///   use.
  public static func gemini(soleJudge judge: any ServerTrustJudge) -> ConnectionParameters {
    gemini(tls: DialRequest.TLS(soleJudge: judge))
  }

  private static func gemini(tls: DialRequest.TLS) -> ConnectionParameters {
    let parameters = ConnectionParameters(tls: tls)
    parameters.defaultProtocolStack.applicationProtocols.insert(
      ProtocolFramer.Options(definition: GeminiProtocol.definition), at: 0)
    return parameters
  }
}
