// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroSupport

/// A recorder of the heads before the final one: redirects and interim responses.
final class HeadRecorder: HTTPResourceInterceptor {
  private enum Head {
    case interim(HTTPResponse)
    case redirect(ResourceResponse)
  }

  private let heads = Lock<[Head]>([])

  var hooksWait: Bool { false }

  func interceptMakeRequest(
    _ result: Result<ResourceRequest, any Error>, context: AttemptContext
  ) async -> Result<ResourceRequest, any Error> {
    guard context.hop == 0 else { return result }
    heads.withLock { $0 = [] }
    return result.map { $0.tellingInterim { [heads] head in heads.withLock { $0.append(.interim(head)) } } }
  }

  func interceptScheduled(_ request: ResourceRequest, context: AttemptContext) async {
    if let response = context.redirectedFrom { heads.withLock { $0.append(.redirect(response)) } }
  }

  /// Returns all heads, as `-i` prints them.
  func text(with last: ResourceResponse) -> String {
    let version = last.facts.httpVersion
    return heads.withLock { $0 }.map { head in
      switch head {
      case .interim(let head): head.text(version)
      case .redirect(let response): response.head.text(response.facts.httpVersion)
      }
    }.joined() + last.head.text(version)
  }
}

/// Prints recorded heads before the body, to a dump, or both.
struct HeadPrinter {
  let recorder: HeadRecorder
  let isIncluded: Bool
  /// The descriptor to which the heads are also written.
  let dump: Int32?

  func print(_ response: ResourceResponse, in front: ResponseOutput) throws(ResponseOutput.WriteFailure) {
    let text = Data(recorder.text(with: response).utf8)
    if isIncluded { try front.put(text) }
    if let dump { try ResponseOutput.writeAll(text, to: dump) }
  }
}

extension ResourceRequest {
  /// Returns a copy that also calls another handler for interim responses.
  func tellingInterim(_ tell: @escaping @Sendable (HTTPResponse) -> Void) -> ResourceRequest {
    var copy = self
    let next = options.onInterimResponse
    copy.options.onInterimResponse = { head in
      next?(head)
      tell(head)
    }
    return copy
  }
}

extension HTTPResponse {
  /// Returns the status line; HTTP/2 has no reason phrase, and a blank in its place.
  func statusLine(_ version: String?) -> String { "HTTP/\(version ?? "1.1") \(status.code) \(status.reasonPhrase)" }

  /// Returns the status line for people, without a blank at its end.
  func shownStatusLine(_ version: String?) -> String { String(statusLine(version)[...].withoutBlanks) }

  fileprivate func text(_ version: String?) -> String {
    let fields = headerFields.map { "\($0.name.rawName): \($0.value)\r\n" }
    return "\(statusLine(version))\r\n\(fields.joined())\r\n"
  }
}
