package struct ResponseHead { package var status: Int; package var reason: String; package var fields: [(name: String, value: String)] }
package struct HeadViolation: Error { package enum Kind { case headTooLarge, tooManyFields, tooManyInterimResponses, other }; package var kind: Kind; package var message: String }
package struct ResponseHeadMachine {
  package enum Event { case needsMore, informational(Int), final(ResponseHead), trailers }
  package init(maximumHeadBytes: Int, maximumFields: Int, maximumInterimResponses: Int) {}
  var cur: ResponseHead?
  package var contentLength: Int? { nil }
  package var hasContentEncoding: Bool { false }
  package func isCloseDelimited(method: String) -> Bool { false }
  package mutating func consume(line: UnsafeRawBufferPointer) throws(HeadViolation) -> Event {
    let s = String(decoding: line, as: UTF8.self).trimmed
    if s.hasPrefix("HTTP/") { let p = s.split(separator: " "); cur = ResponseHead(status: Int(p[1])!, reason: "", fields: []); return .needsMore }
    if s.isEmpty { if let c = cur { if c.status < 200 { return .informational(c.status) }; cur = nil; return .final(c) }; return .trailers }
    let p = s.split(separator: ":", maxSplits: 1); cur?.fields.append((String(p[0]), String(p[1]).trimmed)); return .needsMore
  }
}
extension String { var trimmed: String { var s = Substring(self); while let l = s.unicodeScalars.last, l.value <= 32 { s = s.dropLast() }; while s.first == " " { s = s.dropFirst() }; return String(s) } }
