// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroWire

/// A server for DNS over HTTPS (RFC 8484 §4).
struct DoHServer: Sendable {
  private static let contentType = "application/dns-message"
  /// The block size: messages are padded to a multiple of it (RFC 8467 §4.1).
  private static let block = 128

  /// The origin, which errors show in place of the URL, because its path may be an account's secret.
  let origin: Origin
  /// The host: a name, or an address without brackets.
  let host: String
  private let request: ResourceRequest

  init(_ url: String, timeout: Duration) throws(ConfigurationError) {
    // A POST request has no variable in its URL (RFC 8484 §4.1).
    let plain = url.hasSuffix("{?dns}") ? String(url.dropLast(6)) : url
    origin = try Origin(plain)
    host = try HostName(origin.host).text
    guard origin.keepsSecrets else {
      throw ConfigurationError(
        "names would be sent to \(origin) without encryption", hint: "give an https URL, or one of this machine")
    }
    do throws(TransportError) {
      request = try ResourceRequest(
        method: .post, url: plain, headers: ["Accept": Self.contentType], options: Self.options(timeout))
    } catch {
      throw ConfigurationError(error.message, hint: error.hint)
    }
  }

  private static func options(_ timeout: Duration) -> RequestOptions {
    var options = RequestOptions()
    options.operation = "dns"
    options.timeouts = Timeouts.standard
    options.timeouts?.total = timeout
    options.maximumBodyBytes = DNSReader.mostBytes
    options.redirects = RedirectPolicy.none
    // Repeating a DNS query has no side effects.
    options.idempotency = .idempotent
    return options
  }

  func ask(
    _ question: DNSQuestion, _ name: HostName, over stack: any HTTPNetworkStack
  ) async throws(TransportError) -> FamilyAnswers.Answer {
    var request = request
    request.body = .raw(question.query(id: 0, paddedTo: Self.block), contentType: Self.contentType)
    let answer: Fetched<Data, ResourceResponse>
    do throws(HTTPFetchError<any Error>) {
      answer = try await stack.fetch(RawHTTPResource.raw(request))
    } catch {
      if case .cancelled = error.reason { throw .cancelled() }
      throw .noAnswer(to: name, by: origin, Self.reason(error), hint: error.hint)
    }
    return try read([UInt8](answer.value), answer.response.headerFields, question, name)
  }

  /// Returns the reason of a failure without the URL, which the message for a status would contain.
  static func reason(_ error: HTTPFetchError<any Error>) -> String {
    if case .http(let status, _) = error.reason { return "it answered with status \(status.code)" }
    return error.message
  }

  func read(
    _ bytes: [UInt8], _ fields: HTTPFields, _ question: DNSQuestion, _ name: HostName
  ) throws(TransportError) -> FamilyAnswers.Answer {
    let type = fields[.contentType] ?? ""
    guard Self.isMessage(type) else {
      throw .noAnswer(to: name, by: origin, "what it sent is of type \"\(String(type.prefix(60)).onOneLine)\"")
    }
    let response: DNSResponse
    do throws(DNSViolation) {
      response = try DNSReader.read(bytes, answering: question, id: 0)
    } catch {
      throw .wrongResponse(to: name, by: origin, error)
    }
    // The answer's age in HTTP caches (RFC 9111 §5.1); 0 if it is missing or invalid.
    let age = fields[values: .age].first.flatMap { Int64(clampingDigits: $0.utf8) } ?? 0
    switch response {
    case .addresses(let addresses, let time):
      return .init(addresses: addresses.map(\.text), timeToLive: .seconds(max(0, Int64(time) - age)))
    case .none(_, let time):
      return .init(addresses: [], timeToLive: time.map { .seconds(max(0, Int64($0) - age)) })
    // Only addresses are asked for.
    case .services: return .init(addresses: [])
    case .failure(let code):
      throw .noAnswer(to: name, by: origin, "it answered with code \(DNSResponse.word(ofCode: code))")
    case .truncated: throw .noAnswer(to: name, by: origin, "its answer is truncated")
    }
  }

  private static func isMessage(_ type: String) -> Bool {
    let media = type.prefix { $0 != ";" }
    return media.lowercased().filter { $0 != " " && $0 != "\t" } == contentType
  }
}

extension IPAddress {
  /// The address as text, not necessarily in canonical form.
  var text: String {
    if isIPv4 {
      let shifts: [UInt64] = [24, 16, 8, 0]
      return shifts.map { String(low >> $0 & 0xFF) }.joined(separator: ".")
    }
    let shifts: [UInt64] = [48, 32, 16, 0]
    let groups: [UInt64] = shifts.map { high >> $0 & 0xFFFF } + shifts.map { low >> $0 & 0xFFFF }
    return groups.map { String($0, radix: 16) }.joined(separator: ":")
  }
}
