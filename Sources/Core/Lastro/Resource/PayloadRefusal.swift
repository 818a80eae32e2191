// SPDX-License-Identifier: Apache-2.0

/// An error by which a decoding refuses a payload that may come from someone else, such as one without a valid
/// signature. Such a payload is not decoded as an error of the API, either.
package protocol PayloadRefusal: Error {}
