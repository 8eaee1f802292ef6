/* SPDX-License-Identifier: Apache-2.0 */
/* The level set of a trilinear function in one cell of a grid, as triangles.
 *
 * Where corners of a face alternate, the face's asymptotic decider (Nielson and
 * Hamann 1991) says which pair is joined: a function of the face alone, so that
 * both cells draw the same lines on it. The lines chain into closed loops.
 * Each loop becomes a disk, but for two that a tunnel of the trilinear function
 * joins (the interior ambiguity of Chernyaev 1995): those become an annulus
 * around its waist. No triangle has an edge across a face other than the lines,
 * therefore the triangles of all cells form a closed 2-manifold. */
#ifndef CLV_MESH_CELL_H
#define CLV_MESH_CELL_H

enum { CLV_CELL_EDGES = 12, CLV_CELL_VERTICES = 24, CLV_CELL_TRIANGLES = 40 };

/* Corner c lies at (c & 1, c >> 1 & 1, c >> 2); edge 4 a + u + 2 v runs along
 * axis a where the next axis is at u and the one after at v. */
typedef struct clv_cell {
    double value[8]; /* below 0: inside */
    double scale[3]; /* edge lengths: what is short is judged by them */
    /* Zero crossings of edges, filled in by the caller for edges that have one; then the vertices added inside the
     * cell. Coordinates from 0 to 1. */
    double point[CLV_CELL_VERTICES][3];
    int added;       /* vertices after the first 12 */
    int triangles;
    int corner[CLV_CELL_TRIANGLES][3]; /* counter-clockwise seen from outside */
} clv_cell;

/* The two corners of an edge, that with the lower coordinate first. */
void clv_cell_edge(int edge, int corners[2]);

/* Fills in added, triangles, corner and the points after the first 12. A tunnel
 * narrower than a thousandth of the cell is taken for closed. */
void clv_cell_triangulate(clv_cell *cell);

#endif
