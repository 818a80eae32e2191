// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import Lastro
package import LastroWire

extension RequestWriter {
  /// Request line and `Host`, which is the authority's unless the request has a field of its own.
  ///
  /// - Throws: stage `request`, for what cannot be sent.
  package init(_ head: HTTPRequest) throws(TransportError) {
    let host = head.headerFields.first { $0.name.canonicalName == "host" }
    do throws(RequestViolation) {
      try self.init(method: head.method.rawValue, target: head.path ?? "/")
      try add("Host", host?.value ?? head.authority ?? "")
    } catch {
      throw error.transportError
    }
  }

  /// Adds fields as they are, but for `Host` and those whose names, in lower case, `isLeftOut` wants left out.
  ///
  /// - Throws: stage `request`, for what cannot be sent.
  package mutating func add(
    _ fields: HTTPFields, leavingOut isLeftOut: (String) -> Bool = { _ in false }
  ) throws(TransportError) {
    do throws(RequestViolation) {
      // HTTP/1.1 allows one Cookie field; swift-http-types keeps one for each cookie.
      for field in fields.withOneCookieField
      where field.name.canonicalName != "host" && !isLeftOut(field.name.canonicalName) {
        try field.withUnsafeBytesOfValue { value throws(RequestViolation) in try add(field.name.rawName, value) }
      }
    } catch {
      throw error.transportError
    }
  }

  /// Adds fields that are our own.
  ///
  /// - Throws: stage `request`, for what cannot be sent.
  package mutating func add(own fields: [(name: String, value: String)]) throws(TransportError) {
    do throws(RequestViolation) {
      for (name, value) in fields { try add(name, value) }
    } catch {
      throw error.transportError
    }
  }

  /// The head as it goes out.
  ///
  /// - Throws: stage `request`, for what cannot be sent.
  package consuming func head() throws(TransportError) -> [UInt8] {
    do throws(RequestViolation) { return try finish() } catch { throw error.transportError }
  }
}
